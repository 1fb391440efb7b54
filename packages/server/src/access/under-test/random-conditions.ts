/** For tests: conditions of every kind. */
import type { Random } from '@freshet/core/store/conformance'

const OPERANDS = [
  ...['object.a', 'object.b', 'object.c.d', 'id', 'claim.sub', 'claim.n', 'claim.teams', 'claim.flag', 'claim.none'],
  ...['"ann"', '"a"', '2', 'true', '["a", "ann", 2]', '[]', 'namespace', 'object."x.y"', 'object.list."0"'],
]
const COMPARISONS = ['==', '==', '==', '!=', '<', '<=', '>', '>=', 'in', 'in', 'contains', 'startsWith', 'startsWith']
/** Values for members of objects. */
export const VALUES: readonly unknown[] = [
  'ann',
  'a',
  'b',
  '',
  0,
  1,
  2,
  3,
  true,
  false,
  null,
  undefined,
  ['a'],
  ['ann'],
  { d: 'a' },
  { d: 2 },
]

/** Uses the members a, b, c, list and x.y of objects, and the claims sub, n, teams and flag. */
export function randomCondition(random: Random, depth: number): string {
  const { below, pick } = random
  const kind = depth === 0 ? 0 : below(6)
  if (kind === 4) return `not (${randomCondition(random, depth - 1)})`
  if (kind === 5) return pick(['authenticated', 'object.a', 'claim.flag'])
  if (kind >= 2) {
    const [left, right] = [randomCondition(random, depth - 1), randomCondition(random, depth - 1)]
    return `(${left} ${pick(['and', 'or'])} ${right})`
  }
  return below(8) === 0
    ? `${pick(OPERANDS.slice(0, 9))} ${pick(['==', '!='])} null`
    : `${pick(OPERANDS)} ${pick(COMPARISONS)} ${pick(OPERANDS)}`
}
