import { describe, expect, test } from 'vitest'
import { createScene } from '../testing/scene.js'

const TEA = { where: { category: 'tea' } }
const BUCKET = 'shop/goods'

/** A bucket with an index by category, whose last change is older than the window. */
async function scene(options: Parameters<typeof createScene>[0] = {}) {
  const made = await createScene({ staleness: 1000, ...options })
  const { origin, db } = made
  origin.configure(BUCKET, 'category')
  origin.put(`${BUCKET}/1`, { category: 'tea' })
  origin.nowMs += 2 * origin.windowMs
  await db.session.refresh()
  origin.sent.length = 0
  const goods = db.bucket<{ category: string }>(BUCKET)
  return { ...made, goods, find: async () => (await goods.query(TEA)).items.map(({ id }) => id) }
}

/** The `at` of each query that was sent. */
function asked(sent: readonly { readonly target: string }[]): (string | null)[] {
  return sent
    .filter(({ target }) => target.includes('where='))
    .map(({ target }) => new URLSearchParams(target.slice(target.indexOf('?'))).get('at'))
}

describe('a query', () => {
  test('is asked for under its plain URL until something that it depends on changes, and then at that position', async () => {
    const { origin, find } = await scene()
    expect(await find()).toEqual(['1'])
    origin.put(`${BUCKET}/2`, { category: 'coffee' })
    origin.nowMs += 1001
    expect(await find()).toEqual(['1'])
    const changedAt = origin.put(`${BUCKET}/2`, { category: 'tea' })
    origin.put(`${BUCKET}/3`, { category: 'coffee' })
    origin.nowMs += 1001
    expect(await find()).toEqual(['1', '2'])
    expect(asked(origin.sent)).toEqual([null, null, `${changedAt}`])
  })

  test('whose dependencies are not known yet is asked for again if the answer, by what it says itself, will not do', async () => {
    const { origin, db, find } = await scene()
    const stale = origin.answer({ ...origin.sent[0]!, method: 'GET', target: `/db/${BUCKET}?where=${spelled()}` })
    const changedAt = origin.put(`${BUCKET}/1`, { category: 'coffee' })
    await db.session.refresh()
    // A cache has a copy under the plain URL, which is alive.
    origin.script = ({ target }) => (target.includes('where=') && !target.includes('at=') ? stale.clone() : undefined)
    expect(await find()).toEqual([])
    expect(asked(origin.sent)).toEqual([null, `${changedAt}`])
    await find()
    expect(asked(origin.sent)).toEqual([null, `${changedAt}`, `${changedAt}`])
  })

  test('that depends on an index which has been dropped is asked for after that', async () => {
    const { origin, db, find } = await scene()
    await find()
    const droppedAt = origin.configure(BUCKET)
    const putAt = origin.put(`${BUCKET}/2`, { category: 'tea' })
    await db.session.refresh()
    expect(await find()).toEqual(['1', '2'])
    // The answer at the first depends on the bucket, and that has changed since; it happens to include it.
    expect(asked(origin.sent)).toEqual([null, `${droppedAt}`])
    expect(await find()).toEqual(['1', '2'])
    expect(asked(origin.sent).at(-1)).toBe(`${putAt}`)
  })

  test('has the own write in it that the sketch does not know of', async () => {
    const { goods, find } = await scene({ staleness: 100_000 })
    await find()
    await goods.put('2', { category: 'tea' })
    expect(await find()).toEqual(['1', '2'])
    await goods.delete('1')
    expect(await find()).toEqual(['2'])
  })

  test('is kept in memory until something that it depends on has changed', async () => {
    const { origin, find, reads } = await scene({ memoryBytesMax: 100_000 })
    await find()
    origin.put(`${BUCKET}/2`, { category: 'coffee' })
    origin.nowMs += 1001
    await find()
    origin.put(`${BUCKET}/2`, { category: 'tea' })
    origin.nowMs += 1001
    expect(await find()).toEqual(['1', '2'])
    expect(reads.map(({ from }) => from)).toEqual(['server', 'memory', 'server'])
  })

  test('from a cache that leaves out the query string is refused, not believed', async () => {
    const { origin, db, find } = await scene()
    const stale = origin.answer({ ...origin.sent[0]!, method: 'GET', target: `/db/${BUCKET}?where=${spelled()}` })
    origin.put(`${BUCKET}/1`, { category: 'coffee' })
    await db.session.refresh()
    origin.script = ({ target }) => (target.includes('where=') ? stale.clone() : undefined)
    await expect(find()).rejects.toMatchObject({ code: 'CACHE_UNTRUSTWORTHY' })
  })

  test('has shown what it has shown: nothing that is read later is older', async () => {
    const { origin, goods, find } = await scene({ staleness: 100_000 })
    await goods.get('1')
    const changedAt = origin.put(`${BUCKET}/1`, { category: 'tea' })
    // Nobody has kept it, so the answer is of now, although the session does not know of the change yet.
    await find()
    origin.sent.length = 0
    await goods.get('1')
    expect(origin.sent.at(-1)!.target).toBe(`/db/${BUCKET}/1?at=${changedAt}`)
  })

  test('for everything is one too', async () => {
    const { goods, origin } = await scene()
    expect((await goods.query({})).items.map(({ id }) => id)).toEqual(['1'])
    expect(asked(origin.sent)).toEqual([null])
  })
})

function spelled(): string {
  return encodeURIComponent(JSON.stringify(TEA.where))
}
