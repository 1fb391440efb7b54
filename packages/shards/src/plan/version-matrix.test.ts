import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shardKeyOf } from './shard-map.js'
import { judgeMatrix, SCHEMA_ASPECT, type ShardVersions, versionIn } from './version-matrix.js'

const TABLES = ['a', 'b']

/** Shards that have applied a log up to different positions. */
const LOGGED = fc
  .record({
    log: fc.array(fc.constantFrom('a', 'b', 'c', SCHEMA_ASPECT), { maxLength: 8 }),
    places: fc.array(fc.nat({ max: 8 }), { minLength: 1, maxLength: 4 }),
  })
  .map(({ log, places }) => ({ log, shards: places.map(place => versionsAt(log, Math.min(place, log.length))) }))

function versionsAt(log: readonly string[], applied: number): ShardVersions {
  const versions: Record<string, number> = {}
  for (const [i, aspect] of log.slice(0, applied).entries()) versions[aspect] = i + 1
  return { versions, applied, isChanging: false }
}

test('shards agree if and only if they have applied the same writes to the tables of the query', () => {
  fc.assert(
    fc.property(LOGGED, fc.nat({ max: 8 }), ({ log, shards }, floor) => {
      const seen = shards.map(({ applied }) =>
        JSON.stringify(log.slice(0, applied).flatMap((aspect, i) => (aspect === 'c' ? [] : [i]))),
      )
      const areSame = new Set(seen).size === 1
      const isReached = shards.every(({ applied }) => applied >= floor)
      const verdict = judgeMatrix(shards, { tables: TABLES, floor })
      expect(verdict.kind).toBe(areSame && isReached ? 'consistent' : 'behind')
      if (verdict.kind === 'consistent') return
      // Asking again can only help if a write is missing: a shard that has all writes is not asked.
      const most = Math.max(...shards.map(({ applied }) => applied), floor)
      for (const i of verdict.shards) expect(shards[i]!.applied).toBeLessThan(Math.max(most, 1))
    }),
  )
})

test('a shard whose schema is being changed is asked again', () => {
  const shard = { versions: { a: 1 }, applied: 1, isChanging: false }
  const verdict = judgeMatrix([shard, { ...shard, isChanging: true }], { tables: TABLES, floor: 0 })
  expect(verdict).toEqual({ kind: 'behind', shards: [1], position: 1 })
})

test('if no shard is ahead in everything, as after one was restored, all are asked again', () => {
  const matrix = [
    { a: 2, b: 0 },
    { a: 0, b: 1 },
  ].map(versions => ({ versions, applied: 2, isChanging: false }))
  expect(judgeMatrix(matrix, { tables: TABLES, floor: 0 })).toEqual({ kind: 'behind', shards: [0, 1], position: 2 })
})

test.each(['constructor', '__proto__', 'toString'])(
  'a table that is called %s has no key or version by inheritance',
  name => {
    expect(shardKeyOf({ sharded: {} }, name)).toBeUndefined()
    expect(versionIn({}, name)).toBe(0)
  },
)
