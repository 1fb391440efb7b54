import { FreshetError, type FreshetErrorCode, STATUS_OF_CODE } from '@freshet/protocol'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { isPassing, retry } from './back-off.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const { signal } = new AbortController()

async function delaysOf(error: FreshetError, random: number, retriesMax: number): Promise<number[]> {
  const triedAtMs: number[] = []
  const run = retry({ retriesMax, random: () => random }, signal, isPassing, async () => {
    triedAtMs.push(Date.now())
    throw error
  }).catch(() => {})
  await vi.runAllTimersAsync()
  await run
  return triedAtMs.slice(1).map((at, i) => at - triedAtMs[i]!)
}

test('exactly the server errors with status 429 or 503 are temporary', () => {
  for (const [code, status] of Object.entries(STATUS_OF_CODE) as [FreshetErrorCode, number][]) {
    expect([code, isPassing(new FreshetError(code, ''))]).toEqual([code, status === 429 || status === 503])
  }
})

test('waits at most twice as long each time, up to 2 s, and at random within that', async () => {
  const busy = new FreshetError('SERVER_BUSY', 'Busy.')
  expect(await delaysOf(busy, 1, 6)).toEqual([100, 200, 400, 800, 1600, 2000])
  expect(await delaysOf(busy, 0.5, 3)).toEqual([50, 100, 200])
})

test('does not come back before the server says', async () => {
  const busy = new FreshetError('SERVER_BUSY', 'Busy.', { details: { retryAfterS: 3 } })
  expect(await delaysOf(busy, 1, 2)).toEqual([3100, 3200])
})

test('stops waiting when it is aborted', async () => {
  const controller = new AbortController()
  const busy = new FreshetError('SERVER_BUSY', 'Busy.', { details: { retryAfterS: 60 } })
  const run = retry({ retriesMax: 5, random: () => 1 }, controller.signal, isPassing, async () => {
    throw busy
  })
  const failed = expect(run).rejects.toThrow('enough')
  await vi.advanceTimersByTimeAsync(1000)
  controller.abort(new Error('enough'))
  await failed
})
