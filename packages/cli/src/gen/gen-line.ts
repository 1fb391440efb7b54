/** The command line of `freshet gen --url URL`. */
import { FreshetError } from '@freshet/protocol'
import { readFlags, serverAddress } from '../command/read-flags.js'

export interface GenLine {
  readonly command: 'gen'
  readonly url: string
  /** Undefined: standard output. */
  readonly out: string | undefined
  /** Nothing is written: is the file what would be? */
  readonly isCheck: boolean
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readGenLine(argv: readonly string[]): GenLine {
  const given = readFlags('gen', argv, {
    url: { type: 'string' },
    out: { type: 'string' },
    check: { type: 'boolean' },
    json: { type: 'boolean' },
  })
  const url = serverAddress('gen', given.get('url'))
  const out = given.get('out')
  const isCheck = given.has('check')
  if (isCheck && out === undefined)
    throw new FreshetError('CONFIG_INVALID', '--check needs the file to check: --out FILE.')
  return { command: 'gen', url, out, isCheck, isJson: given.has('json') }
}
