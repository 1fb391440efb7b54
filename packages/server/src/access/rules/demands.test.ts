import { matches } from '@freshet/core/queries'
import { createRandom } from '@freshet/core/store/conformance'
import { describe, expect, test } from 'vitest'
import { randomCondition, VALUES } from '../under-test/random-conditions.js'
import { AccessRules } from './access-rules.js'
import { covers, type Demands, fieldsFor } from './demands.js'
import { parseRules } from './parse-rules.js'

const CLAIMS = { sub: 'ann', n: 2, teams: ['a', 'b', null], flag: true, deep: { er: 'x' } }

function visible(condition: string, claims: Record<string, unknown> | undefined = CLAIMS): Demands | undefined {
  const { rules, mistakes } = parseRules(`bucket shop/things\n  read if ${condition}`)
  if (rules === undefined) throw new Error(JSON.stringify(mistakes))
  return new AccessRules(rules).visibleTo(claims, 'shop/things')
}

describe('demands', () => {
  test('hold for a row if and only if the condition does, for every caller', () => {
    const random = createRandom(7)
    const { pick } = random
    let found = 0
    for (let i = 0; i < 4000; i++) {
      const condition = randomCondition(random, 3)
      const { rules } = parseRules(`bucket shop/things\n  read if ${condition}`)
      if (rules === undefined) throw new Error(`not a condition: ${condition}`)
      const access = new AccessRules(rules)
      const claims = pick([CLAIMS, undefined, { sub: 'b' }, { n: 1, teams: 'a' }])
      const branches = access.visibleTo(claims, 'shop/things')
      if (branches === undefined) continue
      found++
      for (let row = 0; row < 12; row++) {
        const object = { a: pick(VALUES), b: pick(VALUES), c: pick(VALUES), list: ['a'], 'x.y': 'a' }
        const id = pick(['ann', 'annie', 'a', 'x'])
        const isSeen = access.allows('read', claims, `shop/things/${id}`, { object })
        const meets = branches.some(branch =>
          branch.every(({ field, wanted }) => matches({ [field]: wanted }, { id, value: object })),
        )
        expect([condition, claims, object, id, meets]).toEqual([condition, claims, object, id, isSeen])
      }
    }
    expect(found).toBeGreaterThan(1000)
  })

  test('name the fields of the index that finds their rows, fields of equality first', () => {
    const fieldsOf = (condition: string) => visible(condition)?.map(fieldsFor)
    expect(fieldsOf('object.owner == claim.sub')).toEqual([['owner']])
    expect(fieldsOf('claim.n >= object.level and object.owner == claim.sub')).toEqual([['owner', 'level']])
    expect(fieldsOf('object.team in claim.teams')).toEqual([['team'], ['team']])
    expect(fieldsOf('object.published or object.author.name == claim.sub')).toEqual([['published'], ['author.name']])
    expect(fieldsOf('object.a < 3 and object.b < 3')).toEqual([undefined])
    expect(fieldsOf('object.a == 1 and object.a == 2')).toEqual([])
    expect(fieldsOf('object.tags contains claim.sub')).toBeUndefined()
  })

  test('are covered by an index that begins with their fields of equality, followed by the field of their range', () => {
    const [branch = []] = visible('object.a == 1 and object.b == 2 and object.c < 3') ?? []
    const isCovered = (...fields: readonly string[]) => covers({ name: 'i', fields }, branch)
    expect([isCovered('a', 'b', 'c'), isCovered('b', 'a', 'c', 'd')]).toEqual([true, true])
    expect([isCovered('a', 'b'), isCovered('a', 'c', 'b'), isCovered('a', 'b', 'd', 'c')]).toEqual([
      false,
      false,
      false,
    ])
  })
})
