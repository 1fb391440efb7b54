import { bytes, type ConformanceOptions, put, testWith, write } from './kit.js'

export function testClockAndMemory(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(
    options,
    'the clock never goes back, nor behind a commit read from the log',
    async ({ store, peer = store }) => {
      let last = store.nowMs()
      for (let i = 0; i < 50; i++) {
        const position = await write(i % 2 === 0 ? store : peer, put('a/b/c', i))
        const reader = i % 3 === 0 ? store : peer
        const written = (await reader.changes(position - 1))[0]!.timeMs
        expect(written).toBeGreaterThanOrEqual(last)
        last = reader.nowMs()
        expect(last).toBeGreaterThanOrEqual(written)
      }
    },
  )

  testWith(
    options,
    'a remembered value is recalled, byte for byte, through every access path',
    async ({ store, peer = store }) => {
      expect(await store.recall('seed')).toBe(undefined)
      const value = bytes(0, 1, 255)
      await store.remember('seed', value)
      value.fill(9)
      await peer.remember('empty', bytes())
      for (const way of [store, peer]) {
        expect([...((await way.recall('seed')) ?? [])]).toEqual([0, 1, 255])
        expect((await way.recall('empty'))?.length).toBe(0)
      }
      const recalled = await store.recall('seed')
      recalled?.fill(7)
      expect([...((await store.recall('seed')) ?? [])]).toEqual([0, 1, 255])
      await peer.remember('seed', bytes(2))
      expect([...((await store.recall('seed')) ?? [])]).toEqual([2])
    },
  )

  testWith(options, 'a remembered value is not data: it has no position and is in no bucket', async ({ store }) => {
    const start = await store.position()
    await store.remember('a/b/c', bytes(1))
    expect(await store.position()).toBe(start)
    expect(await store.get('a/b/c')).toBe(undefined)
    expect(await store.buckets()).toEqual([])
    expect(await store.changes(start)).toEqual([])
    await write(store, put('a/b/c', 2))
    expect([...((await store.recall('a/b/c')) ?? [])]).toEqual([1])
  })

  testWith(
    options,
    'only one of several holders has a name, until its time is over or it gives the name up',
    async under => {
      const { store, peer = store } = under
      expect(await store.hold('keeper', 'one', 60_000)).toBe(true)
      expect(await peer.hold('keeper', 'two', 60_000)).toBe(false)
      expect(await peer.hold('another', 'two', 60_000)).toBe(true)
      expect(await peer.hold('keeper', 'one', 60_000)).toBe(true)
      expect(await peer.hold('keeper', 'two', 0)).toBe(false)
      expect(await store.hold('keeper', 'one', 0)).toBe(true)
      expect(await peer.hold('keeper', 'two', 1)).toBe(true)
      const overMs = store.nowMs() + 2
      while (store.nowMs() < overMs) await options.kit.nextTurn()
      expect(await store.hold('keeper', 'one', 60_000)).toBe(true)
      const wanted = Array.from({ length: 20 }, async (_, i) => (i % 2 ? store : peer).hold('race', `${i}`, 60_000))
      expect((await Promise.all(wanted)).filter(isHeld => isHeld).length).toBe(1)
    },
  )

  testWith(options, 'the log has an id, the same through every access path', async ({ store, peer = store }) => {
    expect(store.log.length).toBeGreaterThan(0)
    expect(peer.log).toBe(store.log)
    expect(peer.supports).toEqual(store.supports)
  })
}
