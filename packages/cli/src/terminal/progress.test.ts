import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ProgressLine } from './progress.js'

const written: string[] = []
const isTerminal = process.stderr.isTTY

beforeEach(() => {
  written.length = 0
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'performance'] })
  vi.spyOn(process.stderr, 'write').mockImplementation(text => written.push(String(text)) > 0)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  process.stderr.isTTY = isTerminal
})

function workFor(ms: number): Promise<string> {
  let done = 0
  const progress = () => ({ what: 'looking', done: ++done, total: 100 })
  return new ProgressLine().during(progress, () => new Promise(resolve => setTimeout(() => resolve('result'), ms)))
}

test.each([
  ['occasional lines', false, /^(\[[#-]+\] +\d+% looking: \d+ of 100, \d+ s\n){2,6}$/],
  ['one line that is overwritten', true, /^(<\[[#-]+\] +\d+% looking: \d+ of 100, \d+ s ){20,}<$/],
])('progress of slow work is shown as %s, even while no new progress is reported', async (_, isTty, expected) => {
  process.stderr.isTTY = isTty
  const working = workFor(20_000)
  await vi.advanceTimersByTimeAsync(20_000)
  expect(await working).toBe('result')
  // The sequence that clears the line.
  expect(written.join('').replaceAll('\r\u001b[K', '<')).toMatch(expected)
  const lines = written.length
  await vi.advanceTimersByTimeAsync(20_000)
  expect(written.length).toBe(lines)
})

test('quick work shows no progress', async () => {
  process.stderr.isTTY = false
  const working = workFor(1500)
  await vi.advanceTimersByTimeAsync(1500)
  await working
  expect(written).toEqual([])
})
