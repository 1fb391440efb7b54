import { createMemoryStore } from '@freshet/engines/memory'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tellingNothing } from '../testing/odd-stores.js'
import { startServer } from '../testing/running-server.js'
import { type Awaited, HotObjects, toHotObject } from './hot-objects.js'

function objectOf(version: number, bytes = 100) {
  return toHotObject({ version, contentType: 'application/json', body: new Uint8Array(bytes) }, 1024)
}

const action = fc.record({
  kind: fc.constantFrom(...Array.from({ length: 20 }, () => 'read'), ...['commit', 'commit', 'commit', 'clear']),
  // More keys than one generation can hold.
  key: fc.nat({ max: 19 }).map(n => `a/b/${n}`),
  bytes: fc.constantFrom(10, 400, 20_000),
})

describe('hot objects', () => {
  test('that were awaited also equal those in the store, whenever it answered', () => {
    const step = fc.record({
      kind: fc.constantFrom('ask', 'ask', 'answer', 'answer', 'commit', 'clear'),
      key: fc.nat({ max: 3 }).map(n => `a/b/${n}`),
      which: fc.nat({ max: 10 }),
    })
    let filled = 0
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 200, size: 'max' }), steps => {
        const hot = new HotObjects(1_000_000)
        const store = new Map<string, number>()
        const asked: { readonly awaited: Awaited; readonly version: number }[] = []
        steps.forEach(({ kind, key, which }, i) => {
          if (kind === 'clear') hot.clear()
          else if (kind === 'commit') {
            store.set(key, i + 1)
            hot.follow([{ position: i + 1, timeMs: 0, keys: [key], tags: [] }])
          } else if (kind === 'ask') asked.push({ awaited: hot.await(key), version: store.get(key) ?? 0 })
          else if (asked.length > 0) {
            const [{ awaited, version }] = asked.splice(which % asked.length, 1) as [(typeof asked)[number]]
            hot.fill(awaited, objectOf(version))
          }
          for (const [known, version] of store) {
            const found = hot.get(known)
            if (found) filled++
            if (found) expect(found.version).toBe(version)
          }
        })
      }),
      { numRuns: 300 },
    )
    expect(filled).toBeGreaterThan(1000)
  })

  test('equal those in the store, whatever was read, committed and forgotten in between', () => {
    fc.assert(
      fc.property(fc.array(action, { minLength: 50, maxLength: 300, size: 'max' }), actions => {
        const hot = new HotObjects(20_000)
        const store = new Map<string, number>()
        actions.forEach(({ kind, key, bytes }, i) => {
          if (kind === 'clear') hot.clear()
          else if (kind === 'commit') {
            store.set(key, i + 1)
            hot.follow([{ position: i + 1, timeMs: 0, keys: [key], tags: [] }])
          } else {
            const version = store.get(key) ?? 0
            const found = hot.get(key)
            if (found) expect(found.version).toBe(version)
            else hot.put(key, objectOf(version, bytes))
          }
        })
      }),
      { numRuns: 300 },
    )
  })

  test('take no more memory than allowed, and keep what is read all the time', () => {
    const hot = new HotObjects(100_000)
    let kept = 0
    for (let i = 0; i < 1000; i++) {
      hot.put(`a/b/${i}`, objectOf(1))
      if (i === 0 || hot.get('a/b/0')) kept++
    }
    expect(kept).toBe(1000)
    const found = Array.from({ length: 1000 }, (_, i) => hot.get(`a/b/${i}`)).filter(object => object !== undefined)
    expect(found.length).toBeLessThan(100_000 / 500)
    expect(found.length).toBeGreaterThan(20)
    hot.put('a/b/large', objectOf(1, 90_000))
    expect(hot.get('a/b/large')).toBeUndefined()
  })

  test('are not served after another server has changed or deleted them', async () => {
    const store = tellingNothing(createMemoryStore())
    const [one, other] = [await startServer({ store }), await startServer({ store })]
    for (let n = 0; n < 20; n++) {
      await one.put('/db/shop/products/hot', { n })
      for (let i = 0; i < 3; i++) {
        expect(await (await other.fetch('/db/shop/products/hot')).json()).toEqual({ n })
        const value = await other.server.get('shop/products/hot')
        expect(JSON.parse(String(Buffer.from(value!.body)))).toEqual({ n })
        // The value is the reader's own copy.
        value!.body.fill(0)
      }
      if (n % 5 === 4) {
        await one.fetch('/db/shop/products/hot', { method: 'DELETE' })
        expect(await other.server.get('shop/products/hot')).toBeUndefined()
        expect((await other.fetch('/db/shop/products/hot')).status).toBe(404)
      }
    }
    await one.stop()
    await other.stop()
  })
})
