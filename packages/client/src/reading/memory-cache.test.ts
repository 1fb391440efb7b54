import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Copy, MemoryCache } from './memory-cache.js'

function copyOf(position: number, length: number): Copy {
  return {
    version: position,
    position,
    body: 'x'.repeat(length),
    contentType: '',
    dependsOn: { paths: [] },
    freshUntilMs: 0,
  }
}

/** A simple, slow model: a list, the most recently used last. */
class NaiveCache {
  entries: { name: string; copy: Copy }[] = []

  constructor(readonly bytesMax: number) {}

  sizeOf({ name, copy }: { name: string; copy: Copy }): number {
    return 300 + 2 * name.length + 2 * String(copy.body).length
  }

  get(name: string): Copy | undefined {
    const found = this.entries.find(entry => entry.name === name)
    if (found) this.entries = [...this.entries.filter(entry => entry !== found), found]
    return found?.copy
  }

  set(name: string, copy: Copy): void {
    const known = this.entries.find(entry => entry.name === name)
    if (known && known.copy.position > copy.position) return
    this.delete(name)
    if (this.sizeOf({ name, copy }) > this.bytesMax) return
    this.entries.push({ name, copy })
    while (this.bytes > this.bytesMax) this.entries.shift()
  }

  delete(name: string): void {
    this.entries = this.entries.filter(entry => entry.name !== name)
  }

  get bytes(): number {
    return this.entries.reduce((sum, entry) => sum + this.sizeOf(entry), 0)
  }
}

describe('the cache in memory', () => {
  test('holds what a naive least-recently-used list holds, and never more bytes than allowed', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'longer-name')
    const action = fc.oneof(
      fc.record({ kind: fc.constant('get' as const), name }),
      fc.record({ kind: fc.constant('delete' as const), name }),
      fc.record({ kind: fc.constant('set' as const), name, position: fc.nat(20), length: fc.nat(900) }),
    )
    fc.assert(
      fc.property(fc.array(action, { maxLength: 80 }), actions => {
        const cache = new MemoryCache(2500)
        const naive = new NaiveCache(2500)
        for (const action of actions) {
          if (action.kind === 'get') expect(cache.get(action.name)).toBe(naive.get(action.name))
          else if (action.kind === 'delete') [cache, naive].map(each => each.delete(action.name))
          else {
            const copy = copyOf(action.position, action.length)
            cache.set(action.name, copy)
            naive.set(action.name, copy)
          }
          expect(cache.bytes).toBe(naive.bytes)
          expect(cache.size).toBe(naive.entries.length)
          expect(cache.bytes).toBeLessThanOrEqual(2500)
        }
      }),
    )
  })

  test('does not let an older answer replace a later one', () => {
    const cache = new MemoryCache(10_000)
    cache.set('a', copyOf(5, 1))
    cache.set('a', copyOf(4, 1))
    expect(cache.get('a')?.version).toBe(5)
  })
})
