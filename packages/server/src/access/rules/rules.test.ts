import { describe, expect, test } from 'vitest'
import { SHOP_RULES } from '../under-test/shop-rules.js'
import { AccessRules } from './access-rules.js'
import { checkExamples } from './check-examples.js'
import { parseRules } from './parse-rules.js'
import type { Right } from './rights.js'

function rulesOf(text: string): AccessRules {
  const { rules, mistakes } = parseRules(text)
  if (rules === undefined) throw new Error(JSON.stringify(mistakes))
  return new AccessRules(rules)
}

describe('rules', () => {
  const rules = rulesOf(SHOP_RULES)
  const may = (right: Right, key: string, claims?: Record<string, unknown>, object?: unknown, next?: unknown) =>
    rules.allows(right, claims, key, { object, next })

  test('deny what no line allows', () => {
    expect(may('read', 'shop/others/1', { sub: 'ann' })).toBe(false)
    expect(may('read', 'other/products/1')).toBe(false)
    expect(may('create', 'shop/products/1', { sub: 'ann' })).toBe(false)
  })

  test('let an admin do everything', () => {
    expect(may('delete', 'shop/others/1', { role: 'admin' })).toBe(true)
    expect(rules.isAdmin({ role: 'admin' })).toBe(true)
    expect(rules.isAdmin({ role: ['admin'] })).toBe(false)
    expect(rules.isAdmin(undefined)).toBe(false)
  })

  test('look at the object and at the claims', () => {
    expect(may('read', 'shop/orders/1', { sub: 'ann' }, { owner: 'ann' })).toBe(true)
    expect(may('read', 'shop/orders/1', { sub: 'bob' }, { owner: 'ann' })).toBe(false)
    expect(may('update', 'shop/orders/1', { sub: 'ann' }, { owner: 'ann' }, { owner: 'bob' })).toBe(false)
    expect(may('create', 'shop/orders/1', { sub: 'ann' }, undefined, { owner: 'ann' })).toBe(true)
  })

  test('are not satisfied if both sides are missing', () => {
    expect(may('read', 'shop/orders/1', {}, {})).toBe(false)
    expect(may('read', 'shop/orders/1', { sub: null }, { owner: null })).toBe(false)
    expect(may('read', 'shop/orders/1', undefined, {})).toBe(false)
  })

  test('do not take numbers for equal that may have been rounded', () => {
    const tenants = rulesOf(
      'bucket a/b\n read if object.tenant == claim.tenant or claim.tenants contains object.tenant',
    )
    const read = (tenant: number, claims: object) =>
      tenants.allows('read', { ...claims }, 'a/b/1', { object: { tenant } })
    expect(read(2 ** 53 - 1, { tenant: 2 ** 53 - 1 })).toBe(true)
    expect(read(0.1, { tenants: [0.1] })).toBe(true)
    // 9007199254740992 and 9007199254740993 both have this value.
    expect(read(2 ** 53, { tenant: 2 ** 53, tenants: [2 ** 53] })).toBe(false)
  })

  test('do not take an inherited member for a field of the object', () => {
    const inherited = rulesOf('bucket a/b\n read if object.constructor != null')
    expect(inherited.allows('read', undefined, 'a/b/1', { object: {} })).toBe(false)
  })

  test('know whether everything, some objects or nothing is open to everybody', () => {
    expect(rules.openness('read', 'shop/products')).toBe('always')
    expect(rules.openness('read', 'shop/posts')).toBe('sometimes')
    expect(rules.openness('read', 'shop/orders')).toBe('never')
    expect(rules.openness('read', 'shop/none')).toBe('never')
    expect(rules.openness('read', '_freshet/audit')).toBe('never')
  })

  test("do not reach the server's own buckets with a pattern for any bucket", () => {
    const all = rulesOf('bucket */*\n read, list')
    expect(all.allows('read', undefined, 'shop/products/1')).toBe(true)
    expect(all.allows('read', undefined, '_freshet/audit/1')).toBe(false)
  })

  test.each([
    ['claim.n > 3', { n: 4 }, true],
    ['claim.n > 3', { n: '4' }, false],
    ['claim.n >= 4 and claim.n <= 4', { n: 4 }, true],
    ['claim.roles contains "a"', { roles: ['a'] }, true],
    ['claim.roles contains "a"', { roles: 'a' }, false],
    ['claim.role in ["a", "b"]', { role: 'b' }, true],
    ['id startsWith "42-"', {}, true],
    ['id startsWith claim.sub', { sub: '42' }, true],
    ['namespace == "shop" and bucket == "x"', {}, true],
    ['not (claim.banned == true)', { banned: true }, true],
    ['claim.sub != "ann"', {}, false],
    ['claim.sub == null', {}, true],
    ['claim.a.b == 1', { a: { b: 1 } }, true],
    ['claim."https://x/y" == 1', { 'https://x/y': 1 }, true],
    ['claim.ok', { ok: true }, true],
    ['claim.ok', { ok: 'true' }, false],
    ['authenticated', {}, true],
    ['claim.a == 1 or claim.b == 1 and claim.c == 1', { a: 1 }, true],
    ['(claim.a == 1 or claim.b == 1) and claim.c == 1', { a: 1 }, false],
  ])('%s of %j is %s', (condition, claims, expected) => {
    expect(rulesOf(`bucket shop/x\n read if ${condition}`).allows('read', claims, 'shop/x/42-1')).toBe(expected)
  })
})

describe('a wall', () => {
  const rules = rulesOf('wall claim.tenants\nbucket */notes\n read if authenticated\nbucket */news\n read')

  test('keeps a token within its namespaces', () => {
    expect(rules.allows('read', { tenants: ['acme'] }, 'acme/notes/1')).toBe(true)
    expect(rules.allows('read', { tenants: 'acme' }, 'acme/notes/1')).toBe(true)
    expect(rules.allows('read', { tenants: ['acme'] }, 'globex/notes/1')).toBe(false)
    expect(rules.allows('read', {}, 'acme/notes/1')).toBe(false)
  })

  test('does not hide from the bearer of a token what everybody sees', () => {
    expect(rules.allows('read', { tenants: ['acme'] }, 'globex/news/1')).toBe(true)
  })
})

describe('mistakes', () => {
  const guess = (typed: string, names: Iterable<string>) => {
    const found = [...names].find(name => name.startsWith(typed.slice(0, 3)))
    return found === undefined ? '' : ` Did you mean ${found}?`
  }

  test.each([
    ['read', 1, 1, 'bucket'],
    ['bucket shop', 1, 8, 'namespace/bucket'],
    ['bucket Shop/x', 1, 8, 'not a name'],
    ['bucket shop/x\n  raed', 2, 3, 'No line begins with raed.'],
    ['bucket shop/x\n  rea if authenticated', 2, 3, 'Did you mean read?'],
    ['bucket shop/x\n  read if', 2, 10, 'value is missing'],
    ['bucket shop/x\n  read if clam.sub == 1', 2, 11, 'not a value'],
    ['bucket shop/x\n  read if claim == 1', 2, 11, 'claim.name'],
    ['bucket shop/x\n  read if claim.a = 1', 2, 19, '=='],
    ['bucket shop/x\n  read if (claim.a == 1', 2, 24, ') is missing'],
    ['bucket shop/x\n  read if claim.a == 1 claim.b == 2', 2, 24, 'ends before'],
    ['bucket shop/x\n  read if new.a == 1', 2, 3, 'cannot look at new'],
    ['bucket shop/x\n  create if object.a == 1', 2, 3, 'cannot look at object'],
    ['bucket shop/x\n  write if object.a == 1', 2, 3, 'its own line'],
    ['bucket shop/x\n  list if object.a == 1', 2, 3, 'cannot look at object'],
    ['bucket shop/x\n  read when authenticated', 2, 8, 'if and a condition'],
    ['bucket shop/x\n  read if "a', 2, 11, 'does not end'],
    ['admin', 1, 6, 'if and a condition'],
    ['metrics if object.a == 1', 1, 1, 'Metrics belong to no object'],
    ['metrics of claim.a', 1, 9, 'if and a condition'],
    ['wall tenants', 1, 6, 'wall claim'],
    ['allow read shop', 1, 1, 'An example is'],
    ['allow fly shop/x/1 as anyone', 1, 7, 'not a right'],
    ['allow read shop/x/1 as {"a"', 1, 24, 'JSON object'],
    ['bucket shop/x\n  read if claim.a < null', 2, 19, 'null can be compared'],
    ['bucket shop/x\n  read if claim.a == 9007199254740993', 2, 22, 'would be rounded'],
  ])('%j is reported at %i:%i', (text, line, column, message) => {
    const { mistakes } = parseRules(text, guess)
    expect(mistakes).toEqual([{ line, column, message: expect.stringContaining(message) }])
  })

  test('are all reported', () => {
    expect(parseRules('x\ny\n').mistakes).toHaveLength(2)
  })

  test('do not take the parser down', () => {
    const { mistakes } = parseRules(`bucket a/b\n read if ${'('.repeat(10_000)}`)
    expect(mistakes).toHaveLength(1)
  })
})

describe('examples', () => {
  test('with another outcome are reported with their line', () => {
    const { rules } = parseRules(
      [
        'bucket shop/orders',
        '  read if object.owner == claim.sub',
        'allow read shop/orders/1 as {"sub":"ann"} object {"owner":"ann"}',
        'deny  read shop/orders/1 as {"sub":"bob"} object {"owner":"ann"} # not the owner',
        'allow read shop/orders/1 as anyone',
      ].join('\n'),
    )
    expect(checkExamples(rules!)).toEqual([{ line: 5, column: 1, message: expect.stringContaining('deny this') }])
  })
})
