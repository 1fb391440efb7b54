import type { HistoryRecord } from '@freshet/core/history'
import { FreshetError } from '@freshet/protocol'
import { describe, expect, test } from 'vitest'
import { mergeRecordings } from './merged-recordings.js'
import { RecordingLines } from './recording-lines.js'

async function* inBatches(records: readonly HistoryRecord[], size: number) {
  for (let at = 0; at < records.length; at += size) yield records.slice(at, at + size)
}

/** A recording by a client whose clock is `offsetUs` behind the server's. */
function recording(s: string, offsetUs: number, times: readonly number[]): HistoryRecord[] {
  const session = { f: 1, op: 'session', s, c: s, log: 'x', t: 0, lo: offsetUs, hi: offsetUs } as const
  return [session, ...times.map(t => ({ f: 1, op: 'token', s, t, token: 'x' }) as const)]
}

test("recordings are merged by the server's time, whatever the size of their batches", async () => {
  const a = recording('a', 1000, [10, 30, 50])
  const b = recording('b', 0, [1020, 1040, 1060, 1080])
  const merged: HistoryRecord[] = []
  for await (const batch of mergeRecordings([inBatches(a, 2), inBatches(b, 3)])) merged.push(...batch)
  expect(merged.filter(({ op }) => op === 'token').map(({ s }) => s)).toEqual(['a', 'b', 'a', 'b', 'a', 'b', 'b'])
  expect(merged).toHaveLength(9)
})

describe('the lines of a recording', () => {
  const line = '{"f":1,"op":"token","s":"ä","t":1,"token":"x"}'

  test('are put together from pieces; empty lines are ignored', () => {
    const lines = new RecordingLines('a.ndjson')
    expect([...lines.take(`${line}\n\n${line.slice(0, 20)}`), ...lines.take(`${line.slice(20)}\r\n`)]).toHaveLength(2)
    expect(lines.finish()).toEqual([])
  })

  test('a malformed line is reported with its file and line number', () => {
    const lines = new RecordingLines('a.ndjson')
    const message = 'a.ndjson:3: This is not a line of a recording: it is not JSON, or it was cut off (4 characters).'
    expect(() => lines.take(`${line}\n${line}\noops\n`)).toThrow(new FreshetError('RECORDING_INVALID', message))
  })

  test('the last line may be cut off', () => {
    const lines = new RecordingLines('a.ndjson')
    lines.take(line.slice(0, 20))
    expect(lines.finish()).toEqual([])
    expect(lines.isCutOff).toBe(true)
  })
})
