/** The command line of `freshet check rules FILES...`. */
import { configInvalid } from '../config/config-invalid.js'
import { readWordsAndFlags } from '../terminal/read-flags.js'

export interface CheckRulesLine {
  readonly files: readonly string[]
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readCheckRulesLine(argv: readonly string[]): CheckRulesLine {
  const { words: files, given } = readWordsAndFlags('check rules', argv, { switches: ['json'] })
  if (files.length === 0) throw configInvalid('Name the rules files to check: freshet check rules FILES...')
  return { files, isJson: given.has('json') }
}
