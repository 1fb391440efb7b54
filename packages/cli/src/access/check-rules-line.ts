/** The command line of `freshet check rules FILES...`. */
import { FreshetError } from '@freshet/protocol'
import { readWordsAndFlags } from '../command/read-flags.js'

export interface CheckRulesLine {
  readonly command: 'check-rules'
  readonly files: readonly string[]
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readCheckRulesLine(argv: readonly string[]): CheckRulesLine {
  const { words: files, given } = readWordsAndFlags('check rules', argv, { json: { type: 'boolean' } })
  if (files.length === 0) {
    throw new FreshetError('CONFIG_INVALID', 'Say which files of rules to check: freshet check rules FILES...')
  }
  return { command: 'check-rules', files, isJson: given.has('json') }
}
