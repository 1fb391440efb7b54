/** The command line of `freshet check rules FILES...`. */
import { FreshetError } from '@freshet/protocol'

export interface CheckRulesLine {
  readonly command: 'check-rules'
  readonly files: readonly string[]
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readCheckRulesLine(argv: readonly string[]): CheckRulesLine {
  const files = argv.filter(word => word !== '--json')
  const flag = files.find(word => word.startsWith('-'))
  if (flag !== undefined) throw invalid(`${flag} is no option of check rules, which has --json.`)
  if (files.length === 0) throw invalid('Say which files of rules to check: freshet check rules FILES...')
  return { command: 'check-rules', files, isJson: argv.includes('--json') }
}

function invalid(message: string): FreshetError {
  return new FreshetError('CONFIG_INVALID', message)
}
