import { createMemoryStore } from '@freshet/engines/memory'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { DEFAULT_SETTINGS } from '../settings/server-settings.js'
import { BackgroundLoop } from './background-loop.js'
import { Keeper } from './keeper.js'

const log = { level: 'off', write: () => {} } as const

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => vi.useRealTimers())

function scene(mayKeep = true) {
  const store = createMemoryStore({ nowMs: () => performance.now() })
  const keeper = () => {
    const made = new Keeper({ store, settings: { ...DEFAULT_SETTINGS, mayKeep }, log, loop: new BackgroundLoop(log) })
    const changes: boolean[] = []
    made.onChange(isKeeper => changes.push(isKeeper))
    return Object.assign(made, { changes })
  }
  return { store, one: keeper(), two: keeper() }
}

test('the first server is the keeper as long as it renews its hold; when it stops, the next one takes over', async () => {
  const { one, two } = scene()
  await one.start()
  await two.start()
  expect([one.isKeeper, two.isKeeper]).toEqual([true, false])
  await vi.advanceTimersByTimeAsync(60_000)
  expect([one.isKeeper, two.isKeeper]).toEqual([true, false])
  await one.stop()
  await vi.advanceTimersByTimeAsync(3000)
  expect([one.isKeeper, two.isKeeper]).toEqual([false, true])
  expect(two.changes).toEqual([true])
})

test('a server that cannot reach the store is no longer the keeper by the time another one is', async () => {
  const { store, one, two } = scene()
  const holders: string[] = []
  const hold = store.hold.bind(store)
  let isCut = false
  vi.spyOn(store, 'hold').mockImplementation((name, holder, ms) => {
    if (!holders.includes(holder)) holders.push(holder)
    if (isCut && holder === holders[0]) throw new Error('not reached')
    return hold(name, holder, ms)
  })
  await one.start()
  await two.start()
  isCut = true
  for (let waitedMs = 0; waitedMs < 20_000; waitedMs += 100) {
    await vi.advanceTimersByTimeAsync(100)
    expect(one.isKeeper && two.isKeeper).toBe(false)
  }
  expect([one.isKeeper, two.isKeeper]).toEqual([false, true])
  expect(one.changes).toEqual([true, false])
})

test('a server that cannot reach the store when it stops still stops', async () => {
  const { store, one } = scene()
  await one.start()
  vi.spyOn(store, 'hold').mockRejectedValue(new Error('not reached'))
  await one.stop()
  expect(one.isKeeper).toBe(false)
})

test('a server with mayKeep: false never becomes the keeper', async () => {
  const { one } = scene(false)
  await one.start()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(one.isKeeper).toBe(false)
})
