/** Checks the rules against their own examples. */
import { AccessRules } from './access-rules.js'
import type { RuleExample } from './parse-example.js'
import type { ParsedRules } from './parse-rules.js'
import type { RulesMistake } from './rules-mistake.js'

/** One mistake for each example with another outcome. */
export function checkExamples(parsed: ParsedRules): readonly RulesMistake[] {
  const rules = new AccessRules(parsed)
  return parsed.examples
    .filter(example => isAllowed(rules, example) !== example.isAllowed)
    .map(({ line, isAllowed, text }) => ({
      line,
      column: 1,
      message: `The rules ${isAllowed ? 'deny' : 'allow'} this: ${text}`,
    }))
}

function isAllowed(rules: AccessRules, { right, namespace, bucket, id, claims, object, next }: RuleExample): boolean {
  const key = `${namespace}/${bucket}${id === undefined ? '' : `/${id}`}`
  return rules.allows(right, claims, key, { object, next })
}
