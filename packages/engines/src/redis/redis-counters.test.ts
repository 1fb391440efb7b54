/** The script's arithmetic equals that of core, for any text and any addition. */
import { addTo } from '@freshet/core/counters'
import type { Addition, Store } from '@freshet/core/store'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { openRedisStore } from './open-redis-store.js'

const KEY = 'a/n/x'

let redis: RunningRedis
let store: Store
beforeAll(async () => {
  redis = await startRedis()
  store = await openRedisStore({ url: redis.url })
})
afterAll(async () => {
  await store.close()
  await redis.stop()
})

const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 18 })
const texts = fc.oneof(
  fc.tuple(fc.constantFrom('', '-', '+', ' '), digits, fc.constantFrom('', '.'), digits).map(parts => parts.join('')),
  fc.maxSafeInteger().map(String),
  fc.constantFrom(
    '',
    '0',
    '-0',
    '-0.00',
    '1e3',
    '0x10',
    'NaN',
    'inf',
    '1.',
    '.5',
    '01',
    '1\n',
    '1\0',
    '"1"',
    '9007199254740991',
  ),
)
const units = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -1000, max: 1000 }),
  fc.constantFrom(0, 9007199254740991, -9007199254740991, 9007199254740990),
)
const additions = fc.record(
  { key: fc.constant(KEY), by: units, decimals: fc.integer({ min: 0, max: 9 }), min: units, max: units },
  { requiredKeys: ['key', 'by', 'decimals'] },
)

test('an addition has the result that core computes', async () => {
  const property = fc.asyncProperty(fc.option(texts, { nil: undefined }), additions, async (text, add) => {
    const contentType = add.decimals % 2 === 0 ? 'application/json' : 'application/unusual'
    const before =
      text === undefined ? { key: KEY, delete: true as const } : { key: KEY, contentType, body: Buffer.from(text) }
    await store.commit({ writes: [before] })
    const result = await store.commit({ writes: [], adds: [add as Addition] })
    const expected = addTo(add as Addition, text === undefined ? undefined : Buffer.from(text))
    if ('reason' in expected) {
      expect(result).toEqual({ committed: false, conflicts: [], refusedAdds: [expected] })
      return
    }
    expect(result).toMatchObject({ committed: true, units: [expected.units] })
    const found = await store.get(KEY)
    expect(found).toMatchObject({ contentType: 'application/json' })
    expect(Buffer.from(found!.body).toString()).toBe(Buffer.from(expected.body).toString())
  })
  await fc.assert(property, { numRuns: 3000 })
})
