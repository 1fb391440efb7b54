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
  test('uses its plain URL until something that it depends on changes, and then that position', async () => {
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

  test('whose dependencies are not known yet is repeated if its answer turns out to be outdated', async () => {
    const { origin, db, find } = await scene()
    const stale = origin.answer({ ...origin.sent[0]!, method: 'GET', target: `/db/${BUCKET}?where=${spelled()}` })
    const changedAt = origin.put(`${BUCKET}/1`, { category: 'coffee' })
    await db.session.refresh()
    // A cache has a copy under the plain URL that has not expired.
    origin.script = ({ target }) => (target.includes('where=') && !target.includes('at=') ? stale.clone() : undefined)
    expect(await find()).toEqual([])
    expect(asked(origin.sent)).toEqual([null, `${changedAt}`])
    await find()
    expect(asked(origin.sent)).toEqual([null, `${changedAt}`, `${changedAt}`])
  })

  test('that depends on a dropped index is read at a later position', async () => {
    const { origin, db, find } = await scene()
    await find()
    const droppedAt = origin.configure(BUCKET)
    const putAt = origin.put(`${BUCKET}/2`, { category: 'tea' })
    await db.session.refresh()
    expect(await find()).toEqual(['1', '2'])
    // The answer at the first position depends on the bucket, which has changed since; it happens to include the change.
    expect(asked(origin.sent)).toEqual([null, `${droppedAt}`])
    expect(await find()).toEqual(['1', '2'])
    expect(asked(origin.sent).at(-1)).toBe(`${putAt}`)
  })

  test("includes the session's own write, which the sketch does not include yet", async () => {
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

  test('whose answer comes from a cache that ignores the query string is refused', async () => {
    const { origin, db, find } = await scene()
    const stale = origin.answer({ ...origin.sent[0]!, method: 'GET', target: `/db/${BUCKET}?where=${spelled()}` })
    origin.put(`${BUCKET}/1`, { category: 'coffee' })
    await db.session.refresh()
    origin.script = ({ target }) => (target.includes('where=') ? stale.clone() : undefined)
    await expect(find()).rejects.toMatchObject({ code: 'CACHE_UNTRUSTWORTHY' })
  })

  test('commits the session to what it has shown: no later read is older', async () => {
    const { origin, goods, find } = await scene({ staleness: 100_000 })
    await goods.get('1')
    const changedAt = origin.put(`${BUCKET}/1`, { category: 'tea' })
    // No cache has a copy, so the answer is current, although the session does not know of the change yet.
    await find()
    origin.sent.length = 0
    await goods.get('1')
    expect(origin.sent.at(-1)!.target).toBe(`/db/${BUCKET}/1?at=${changedAt}`)
  })

  test('without conditions works, too', async () => {
    const { goods, origin } = await scene()
    expect((await goods.query({})).items.map(({ id }) => id)).toEqual(['1'])
    expect(asked(origin.sent)).toEqual([null])
  })
})

function spelled(): string {
  return encodeURIComponent(JSON.stringify(TEA.where))
}
