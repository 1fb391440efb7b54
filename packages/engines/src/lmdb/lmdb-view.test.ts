import { compareUtf8, type Key } from '@freshet/core/store'
import type { KeyRange, View } from '@freshet/store/engine'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type EmbeddedStore, openEmbeddedStore } from './embedded-store.js'
import { type TemporaryFolder, temporaryFolder } from './under-test/temporary-folder.js'

const MANY = 1300
/** With keys of the maximal length, and characters whose order in UTF-16 is different. */
const IDS = ['a', 'a0', 'a\u{ffff}', 'b', 'b\u{10000}', 'c', 'x'.repeat(1020), `${'x'.repeat(1017)}\u{20ac}`]
const KEYS = IDS.map(id => `a/b/${id}`).sort(compareUtf8)

let folder: TemporaryFolder
let store: EmbeddedStore

beforeAll(async () => {
  folder = await temporaryFolder()
  store = await openEmbeddedStore({ path: folder.path, durability: 'relaxed' })
  const ids = Array.from({ length: MANY }, (_, i) => `m/m/${i}`)
  const writes = [...KEYS, ...ids].map(key => ({ key, contentType: 'text/plain', body: Buffer.from(key) }))
  await store.commit({ writes })
})

afterAll(async () => {
  await store.close()
  await folder.remove()
})

function keysOf(range: KeyRange): Promise<readonly Key[]> {
  const read = async (view: View) => (await view.page('a/b', range)).values.map(({ key }) => key)
  return store.engine.inOneState({ isOneRead: true }, read)
}

test('a page has the keys of its range in either direction, even between bounds that cannot be keys', async () => {
  const ends = fc.constantFrom('', 'x', `${'x'.repeat(1020)}y`, 'y'.repeat(3000), `${'x'.repeat(1500)}\u{10000}`)
  const texts = fc.tuple(fc.constantFrom(...IDS, 'a00', ''), ends).map(([id, end]) => `a/b/${id}${end}`)
  const bounds = fc.record({ key: texts, isIncluded: fc.boolean() })
  const ranges = fc.record({
    low: bounds,
    high: bounds,
    isDescending: fc.boolean(),
    limit: fc.integer({ min: 1, max: 9 }),
  })
  await fc.assert(
    fc.asyncProperty(ranges, async range => {
      const { low, high, isDescending, limit } = range
      const within = KEYS.filter(key => {
        const [above, below] = [compareUtf8(key, low.key), compareUtf8(high.key, key)]
        return (low.isIncluded ? above >= 0 : above > 0) && (high.isIncluded ? below >= 0 : below > 0)
      })
      expect(await keysOf(range)).toEqual((isDescending ? within.reverse() : within).slice(0, limit))
    }),
    { numRuns: 1000 },
  )
})

test('a long scan and a long query yield the thread to other work after every 500 entries', async () => {
  const turnsDuring = async (read: () => Promise<unknown>) => {
    let turns = 0
    let isOver = false
    const turn = () => {
      turns++
      if (!isOver) setImmediate(turn)
    }
    setImmediate(turn)
    await read().finally(() => {
      isOver = true
    })
    return turns
  }
  expect(await turnsDuring(() => store.scan('m/m', { limit: MANY }))).toBeGreaterThanOrEqual(2)
  expect(await turnsDuring(() => store.query('m/m', { where: { n: 1 } }))).toBeGreaterThanOrEqual(2)
  expect(await turnsDuring(() => store.scan('m/m', { limit: 400 }))).toBe(0)
})
