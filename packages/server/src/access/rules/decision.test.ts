import { createRandom, type Random } from '@freshet/core/store/conformance'
import { expect, test } from 'vitest'
import { Caller } from '../caller.js'
import { randomCondition, VALUES } from '../under-test/random-conditions.js'
import { AccessRules } from './access-rules.js'
import { memberOf, type Scope } from './condition.js'
import type { Claims, Row } from './decision.js'
import { ObjectMembers } from './object-members.js'
import { type ParsedRules, parseRules } from './parse-rules.js'
import type { Right } from './rights.js'

const CALLERS: readonly (Claims | undefined)[] = [
  undefined,
  ...[
    { sub: 'ann', n: 2, teams: ['a', 'b', null], flag: true, tenants: 'shop' },
    { sub: 'b', tenants: ['shop', 'x'] },
  ],
  ...[{ n: 1, teams: 'a' }, { role: 'admin' }, {}, { sub: 'ann', tenants: [] }],
]
const KEYS = ['shop/things/ann', 'shop/things/annie', 'shop/things', 'shop/other/a', 'x/things/ann', 'x/y/a']
const RIGHTS: readonly Right[] = ['read', 'delete']

function randomRules(random: Random): ParsedRules {
  const { pick, chance } = random
  const section = () => {
    const lines = Array.from({ length: 1 + random.below(3) }, () => {
      const condition = chance(0.1) ? '' : ` if ${randomCondition(random, 2)}`
      return `  ${pick(['read', 'delete', 'read, delete'])}${condition}\n`
    })
    return `bucket ${pick(['shop/things', 'shop/*', '*/things', '*/*'])}\n${lines.join('')}`
  }
  const text = [
    chance(0.5) ? 'admin if claim.role == "admin"\n' : '',
    chance(0.3) ? 'wall claim.tenants\n' : '',
    ...Array.from({ length: 1 + random.below(3) }, section),
  ].join('')
  const { rules } = parseRules(text)
  if (rules === undefined) throw new Error(`not rules: ${text}`)
  return rules
}

function randomObject({ pick }: Random): object {
  return { a: pick(VALUES), b: pick(VALUES), c: pick(VALUES), list: ['a'], 'x.y': 'a' }
}

/** Follows docs/guides/access.md literally: line by line, for this request alone. */
function interpreted(rules: ParsedRules, right: Right, claims: Claims | undefined, key: string, row?: Row): boolean {
  const [namespace = '', bucket = '', id] = key.split('/')
  const lines = rules.buckets
    .filter(each => (each.namespace ?? namespace) === namespace && (each.bucket ?? bucket) === bucket)
    .flatMap(each => each.rules.filter(rule => rule.right === right))
  const allowsOne = (who: Claims | undefined) => {
    const scope: Scope = { claims: who, namespace, bucket, id, ...row }
    return lines.some(({ condition }) =>
      row === undefined ? condition.testUnseen(scope) !== false : condition.test(scope),
    )
  }
  if (allowsOne(undefined)) return true
  if (claims === undefined) return false
  const tenants = rules.wall === undefined ? namespace : memberOf(claims, rules.wall)
  const isWithinWall = tenants === namespace || (Array.isArray(tenants) && tenants.includes(namespace))
  if (isWithinWall && allowsOne(claims)) return true
  return rules.admin.some(({ test }) => test({ claims, namespace: '', bucket: '', id: undefined }))
}

test('a cached decision equals evaluating the lines, for every caller and object, also after a change of rules', () => {
  const random = createRandom(21)
  const { pick } = random
  const rows = Array.from({ length: 8 }, () => {
    const object = randomObject(random)
    const stored = { contentType: 'application/json', body: Buffer.from(JSON.stringify(object)) }
    // As in the log: members that are undefined are missing.
    const row = { object: JSON.parse(JSON.stringify(object)) }
    return { row, stored, atHand: { ...stored, members: new ObjectMembers(stored) } }
  })
  for (let change = 0; change < 600; change++) {
    const parsed = randomRules(random)
    const rules = new AccessRules(parsed)
    for (let asked = 0; asked < 60; asked++) {
      const [right, claims, key, { row, stored, atHand }] = [pick(RIGHTS), pick(CALLERS), pick(KEYS), pick(rows)]
      const caller = new Caller(() => rules, claims)
      const expected = interpreted(parsed, right, claims, key, row)
      const [open, possible] = [
        interpreted(parsed, right, undefined, key, row),
        interpreted(parsed, right, claims, key),
      ]
      const found = {
        allows: rules.allows(right, claims, key, row),
        stored: caller.may(right, key, stored),
        atHand: caller.may(right, key, atHand),
        open: caller.isOpen(right, key, atHand),
        possible: caller.might(right, key),
        absent: caller.may(right, key),
      }
      const absent = interpreted(parsed, right, claims, key, {})
      expect({ key, claims, row, ...found }).toEqual({
        ...{ key, claims, row, allows: expected, stored: expected, atHand: expected, open, possible, absent },
      })
    }
  }
})

test('a decision is made once for a caller, and the number of cached decisions is bounded', () => {
  const rules = new AccessRules(parseRules('bucket */*\n  read if object.owner == claim.sub').rules!)
  const claims = { sub: 'ann' }
  const decision = rules.decide('read', claims, 'shop/things')
  expect(rules.decide('read', claims, 'shop/things')).toBe(decision)
  expect(rules.decide('read', { ...claims }, 'shop/things')).not.toBe(decision)
  expect(decision.always).toBeUndefined()
  for (let i = 0; i < 60_000; i++) rules.decide('read', claims, `shop/made-up-${i}`)
  expect(rules.decide('read', claims, 'shop/things')).not.toBe(decision)
})

test('members are parsed once if they are few and short, and each time otherwise', () => {
  const countParses = (object: object) => {
    let parses = 0
    const body = Buffer.from(JSON.stringify(object))
    const counted = {
      contentType: 'application/json',
      get body() {
        parses++
        return body
      },
    }
    const members = new ObjectMembers(counted)
    const names = ['owner', '__proto__']
    for (let i = 0; i < 3; i++)
      expect(members.with(names)).toMatchObject({ owner: (object as { owner: unknown }).owner })
    return parses
  }
  expect(countParses({ owner: 'ann', text: 'x'.repeat(10_000) })).toBe(1)
  expect(countParses({ owner: 'x'.repeat(300) })).toBe(3)
  expect(countParses({ owner: Array.from({ length: 40 }, () => ({})) })).toBe(3)
})

test('a member named __proto__ is an ordinary member, and sets no prototype', () => {
  const body = Buffer.from('{"__proto__":{"owner":"ann"}}')
  const kept = new ObjectMembers({ contentType: 'application/json', body }).with(['owner', '__proto__'])
  expect(memberOf(kept, ['owner'])).toBeUndefined()
  expect(memberOf(kept, ['__proto__', 'owner'])).toBe('ann')
  expect((kept as { owner?: unknown }).owner).toBeUndefined()
})
