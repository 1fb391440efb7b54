/** The command line of `freshet gen --url URL`. */
import { configInvalid } from '../config/config-invalid.js'
import { flagUrl } from '../terminal/flag-values.js'
import { readFlags } from '../terminal/read-flags.js'

export interface GenLine {
  readonly url: string
  /** Undefined: standard output. */
  readonly out: string | undefined
  /** Write nothing, and check whether the file is up to date. */
  readonly isCheck: boolean
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readGenLine(argv: readonly string[]): GenLine {
  const given = readFlags('gen', argv, { values: ['url', 'out'], switches: ['check', 'json'] })
  const url = flagUrl('gen', given)
  const out = given.get('out')
  const isCheck = given.has('check')
  if (isCheck && out === undefined) throw configInvalid('--check needs the file to check: --out FILE.')
  return { url, out, isCheck, isJson: given.has('json') }
}
