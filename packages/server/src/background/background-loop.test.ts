import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { LogFields } from '../monitoring/log.js'
import { BackgroundLoop, type Job } from './background-loop.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => vi.useRealTimers())

function scene() {
  const lines: [string, LogFields | undefined][] = []
  const loop = new BackgroundLoop({
    level: 'error',
    write: (_level, message, fields) => lines.push([message, fields]),
  })
  return { loop, lines }
}

function job(run: Job['run'], more: Partial<Job> = {}): Job {
  return { name: 'trim', failure: 'trimming failed', run, ...more }
}

/** A job whose runs end when the test says so. */
function heldJob() {
  const ends: (() => void)[] = []
  let running = 0
  let most = 0
  const run = async () => {
    most = Math.max(most, ++running)
    await new Promise<void>(resolve => ends.push(resolve))
    running--
    return undefined
  }
  return { run, ends, most: () => most, runs: () => ends.length }
}

test('a job with an interval runs at every interval, a job without one only when it is woken', async () => {
  const { loop } = scene()
  const regular = vi.fn(async () => undefined)
  const woken = vi.fn(async () => undefined)
  loop.add(job(regular, { everyMs: 100 }))
  const sleeping = loop.add(job(woken))
  await vi.advanceTimersByTimeAsync(1050)
  expect(regular).toHaveBeenCalledTimes(10)
  expect(woken).toHaveBeenCalledTimes(0)
  await sleeping.wake()
  expect(woken).toHaveBeenCalledTimes(1)
})

test('a job that is woken while it runs then runs once more, and never twice at a time', async () => {
  const { loop } = scene()
  const { run, ends, most, runs } = heldJob()
  const held = loop.add(job(run))
  const rests = held.wake()
  held.wake()
  held.wake()
  ends[0]!()
  await vi.advanceTimersByTimeAsync(0)
  expect(runs()).toBe(2)
  ends[1]!()
  await rests
  expect([runs(), most()]).toEqual([2, 1])
})

test('a slow job does not delay the others', async () => {
  const { loop } = scene()
  const { run } = heldJob()
  const quick = vi.fn(async () => undefined)
  loop.add(job(run, { everyMs: 100 }))
  loop.add(job(quick, { everyMs: 100 }))
  await vi.advanceTimersByTimeAsync(1050)
  expect(quick).toHaveBeenCalledTimes(10)
})

test('a job decides when it runs again: at once, or later', async () => {
  const { loop } = scene()
  const again = [0, 0, 500, undefined]
  const run = vi.fn(async () => again.shift())
  await loop.add(job(run)).wake()
  expect(run).toHaveBeenCalledTimes(3)
  await vi.advanceTimersByTimeAsync(499)
  expect(run).toHaveBeenCalledTimes(3)
  await vi.advanceTimersByTimeAsync(2)
  expect(run).toHaveBeenCalledTimes(4)
})

test('a job that fails is logged with its name, and runs again', async () => {
  const { loop, lines } = scene()
  const run = vi.fn(async () => undefined)
  run.mockRejectedValueOnce(new Error('disk full'))
  await loop.add(job(run, { retryMs: 1000 })).wake()
  expect(lines).toEqual([['trimming failed', expect.objectContaining({ job: 'trim' })]])
  await vi.advanceTimersByTimeAsync(1001)
  expect(run).toHaveBeenCalledTimes(2)
})

test('stopping waits for running jobs; afterwards no job runs and no failure is logged', async () => {
  const { loop, lines } = scene()
  let fail: (error: Error) => void = () => undefined
  const run = vi.fn(
    () =>
      new Promise<undefined>((_resolve, reject) => {
        fail = reject
      }),
  )
  const stopped = loop.add(job(run, { everyMs: 100 }))
  stopped.wake()
  const stopping = loop.stop()
  expect(loop.isStopping).toBe(true)
  fail(new Error('cut'))
  await stopping
  await stopped.wake()
  await vi.advanceTimersByTimeAsync(1000)
  expect(run).toHaveBeenCalledTimes(1)
  expect(lines).toEqual([])
})
