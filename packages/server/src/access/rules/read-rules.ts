/** Parses the text of a rules file and checks its examples. */
import { FreshetError } from '@freshet/protocol'
import { checkExamples } from './check-examples.js'
import { type ParsedRules, parseRules } from './parse-rules.js'

/** Throws RULES_INVALID. */
export function readRules(text: string): ParsedRules {
  const { rules, mistakes } = parseRules(text)
  const wrong = rules === undefined ? mistakes : checkExamples(rules)
  if (rules !== undefined && wrong.length === 0) return rules
  const list = wrong.map(({ line, column, message }) => `${line}:${column}: ${message}`)
  throw new FreshetError('RULES_INVALID', `The rules have mistakes. ${list.join(' ')}`)
}
