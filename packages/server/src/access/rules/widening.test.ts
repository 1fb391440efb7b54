import { expect, test } from 'vitest'
import { AccessRules } from './access-rules.js'
import type { Claims } from './decision.js'
import { parseRules } from './parse-rules.js'
import { RIGHTS } from './rights.js'
import { wideningsOf } from './widening.js'

const parsed = (text: string) => {
  const { rules, mistakes } = parseRules(text)
  expect(mistakes).toEqual([])
  return rules!
}
const reported = (before: string, after: string) =>
  wideningsOf(parsed(before), parsed(after)).map(({ what, rights }) => [what, ...(rights ?? [])].join(' '))

const B = 'bucket shop/orders\n '
const BOTH = 'claim.a == 1 and claim.b == 2'

test.each([
  ['the same, in other spaces', `${B} read if claim.a==1`, `${B}   read if (claim.a  ==  1)`],
  ['a line less', `${B} read\n list`, `${B} read`],
  ['one more condition', `${B} read if claim.a == 1`, `${B} read if claim.a == 1 and object.b == 2`],
  ['one alternative fewer', `${B} read if claim.a == 1 or claim.b == 2`, `${B} read if claim.b == 2`],
  ['parts in another order', `${B} read if ${BOTH}`, `${B} read if claim.b == 2 and claim.a == 1`],
  ['a claim instead of any token', `${B} read if authenticated`, `${B} read if claim.role in ["staff"]`],
  [
    'two lines instead of or',
    `${B} read if claim.a == 1 or claim.b == 2`,
    `${B} read if claim.a == 1\n read if claim.b == 2`,
  ],
  ['a pattern instead of a bucket that it covers', 'bucket shop/*\n read', `${B} read`],
  ['a wall', `${B} read if authenticated`, `wall claim.tenants\n${B} read if authenticated`],
  ['fewer admins', 'admin if claim.a == 1', 'admin if claim.a == 1 and claim.b == 2'],
])('%s is no wider', (_, before, after) => {
  expect(reported(before, after)).toEqual([])
})

test.each([
  ['one more line', `${B} read`, `${B} read, list`, ['shop/orders list']],
  ['write', `${B} create`, `${B} write`, ['shop/orders update delete']],
  ['a condition removed', `${B} read if authenticated`, `${B} read`, ['shop/orders read']],
  ['one condition fewer', `${B} read if ${BOTH}`, `${B} read if claim.a == 1`, ['shop/orders read']],
  ['another value', `${B} read if claim.a == 1`, `${B} read if claim.a == 2`, ['shop/orders read']],
  ['a test for absence', `${B} read if authenticated`, `${B} read if claim.a == null`, ['shop/orders read']],
  ['a negation', `${B} read if authenticated`, `${B} read if not (claim.a == 1)`, ['shop/orders read']],
  ['a pattern', `${B} read`, 'bucket shop/*\n read', ['shop/* read']],
  ['any namespace', `${B} read`, 'bucket */orders\n read', ['*/orders read']],
  ['a wall removed', 'wall claim.a', '', ['wall']],
  ['another wall', 'wall claim.a', 'wall claim.b', ['wall']],
  ['more admins', 'admin if claim.a == 1', 'admin if claim.a == 1\nadmin if claim.b == 1', ['admin']],
  ['metrics for all', 'metrics if claim.a == 1', 'metrics', ['metrics']],
])('%s is wider', (_, before, after, wider) => {
  expect(reported(before, after)).toEqual(wider)
})

test('no rules are wider than any, and none are wider than no rules', () => {
  const rules = parsed(`${B} read`)
  expect(wideningsOf(undefined, rules)).toEqual([])
  expect(wideningsOf(rules, undefined).map(({ what }) => what)).toContain('*/*')
})

/** A small generator of conditions, and of everything that they look at. */
function randomRules(random: () => number): string {
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)]!
  const condition = (depth: number): string => {
    const atom = pick([
      'authenticated',
      'claim.a == 1',
      'claim.a != 1',
      'claim.b == true',
      'claim.b',
      'claim.a == null',
      'id == "1"',
    ])
    if (depth === 0) return atom
    const [left, right] = [condition(depth - 1), condition(depth - 1)]
    return pick([atom, `not (${left})`, `(${left} and ${right})`, `(${left} or ${right})`])
  }
  const wall = random() < 0.2 ? 'wall claim.tenant\n' : ''
  const sections = [pick(['shop/orders', 'shop/*', '*/orders', '*/*']), pick(['shop/orders', 'shop/*'])]
  return wall + sections.map(name => `bucket ${name}\n read if ${condition(2)}\n list if ${condition(1)}\n`).join('')
}

test('whatever the rules are: if nothing is reported, no caller may do anything that was denied before', () => {
  let seed = 7
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed / 2_147_483_648
  }
  const callers: (Claims | undefined)[] = [undefined]
  for (const a of [undefined, 1, 2]) {
    for (const b of [undefined, true]) for (const tenant of [undefined, 'shop']) callers.push({ a, b, tenant })
  }
  let quiet = 0
  for (let i = 0; i < 3000; i++) {
    const before = randomRules(random)
    const after =
      random() < 0.5 ? randomRules(random) : before.replace(/ read if (.*)/, ' read if ($1) and claim.a == 1')
    const [old, now] = [parsed(before), parsed(after)]
    if (wideningsOf(old, now).length > 0) continue
    quiet++
    const [oldRules, newRules] = [new AccessRules(old), new AccessRules(now)]
    for (const claims of callers) {
      for (const key of ['shop/orders/1', 'shop/orders/2', 'shop/other/1', 'else/orders/1', 'else/other/2']) {
        for (const right of RIGHTS) {
          if (newRules.allows(right, claims, key))
            expect(oldRules.allows(right, claims, key), `${before}\n${after}`).toBe(true)
        }
      }
    }
  }
  expect(quiet).toBeGreaterThan(500)
})
