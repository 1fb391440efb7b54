import { completeSettings } from '@freshet/server/capabilities'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { GlobalLog } from '../plan/index.js'
import { MAP_WITHOUT_SHARDS } from '../plan/under-test/map-without-shards.js'
import { Arbitrator } from './arbitrator.js'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** An arbitrator over a log that answers as the test decides. */
function arbitratorOver(lead: GlobalLog['lead']) {
  const log = { lead, head: async () => 0, resign: async () => undefined } as unknown as GlobalLog
  const lines: string[] = []
  const arbitrator = new Arbitrator({
    database: { map: MAP_WITHOUT_SHARDS, shards: [], log, hasLocalWrites: false },
    settings: completeSettings({ globalIntervalMs: 250 }),
    log: { level: 'error', write: (_, message) => lines.push(message) },
  })
  return { arbitrator, lines }
}

test('a check that takes long is waited for, and no others pile up behind it', async () => {
  let release: (isLeading: boolean) => void = () => undefined
  const held = new Promise<boolean>(resolve => {
    release = resolve
  })
  const lead = vi.fn(() => held)
  const { arbitrator } = arbitratorOver(lead)
  arbitrator.start()
  await vi.advanceTimersByTimeAsync(9000)
  const stopped = arbitrator.stop()
  release(false)
  await stopped
  expect(lead).toHaveBeenCalledTimes(1)
})

test('stopping does not wait for ever for a check that does not end', async () => {
  const { arbitrator } = arbitratorOver(() => new Promise(() => undefined))
  arbitrator.start()
  await vi.advanceTimersByTimeAsync(1000)
  const stopped = arbitrator.stop()
  await vi.advanceTimersByTimeAsync(60_000)
  await stopped
})

test('a log of global writes that does not answer is reported once, until it answers again', async () => {
  let isAway = true
  const { arbitrator, lines } = arbitratorOver(async () => {
    if (isAway) throw new Error('it is away')
    return false
  })
  arbitrator.start()
  await vi.advanceTimersByTimeAsync(5000)
  expect(lines).toEqual(['the log of global writes cannot be read'])
  isAway = false
  await vi.advanceTimersByTimeAsync(1000)
  isAway = true
  await vi.advanceTimersByTimeAsync(1000)
  expect(lines).toHaveLength(2)
  await arbitrator.stop()
})
