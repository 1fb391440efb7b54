/** The checker against a naive oracle that knows the true times: it finds every broken promise and makes no false accusation. */
import { describe, expect, test } from 'vitest'
import { createRandom } from '../store/conformance/random.js'
import { HistoryChecker, type HistoryCheckerOptions } from './history-checker.js'
import type { HistorySummary } from './history-tally.js'
import type { HistoryRecord, ReadRecord, WriteRecord } from './record.js'
import { createModelHistory, type ModelHistory, type ModelOptions, type TrueRecord } from './testing/model-history.js'
import { judgeNaively, nameOf } from './testing/naive-oracle.js'
import { formatViolation, PROMISES, type Violation } from './violation.js'

const HISTORIES = 150

function check(records: Iterable<HistoryRecord>, options: HistoryCheckerOptions = {}) {
  const violations: Violation[] = []
  const checker = new HistoryChecker({ ...options, onViolation: violation => violations.push(violation) })
  for (const record of records) checker.add(record)
  const summary: HistorySummary = checker.finish()
  return { violations, summary, names: new Set(violations.map(({ promised, read }) => nameOf(promised, read))) }
}

function recordsOf({ records }: ModelHistory): HistoryRecord[] {
  return records.map(({ record }) => record)
}

function optionsFrom(random: () => number): ModelOptions {
  return {
    random,
    clocks: 1 + Math.floor(random() * 3),
    sessions: 2 + Math.floor(random() * 5),
    paths: 1 + Math.floor(random() * 4),
    steps: 50 + Math.floor(random() * 400),
    serverRecords: random() < 0.5,
  }
}

/** Makes some promised reads return an older version than they did, or nothing at all. */
function plant(history: ModelHistory, random: () => number): TrueRecord<ReadRecord>[] {
  const reads = history.records.filter(
    (each): each is TrueRecord<ReadRecord> => each.record.op === 'read' && each.record.within !== undefined,
  )
  const planted: TrueRecord<ReadRecord>[] = []
  for (let i = 0; i < 5; i++) {
    const read = reads[Math.floor(random() * reads.length)]
    if (read === undefined || read.record.v === 0) continue
    const older = history.records
      .map(({ record }) => record)
      .filter((record): record is WriteRecord => record.op === 'write' && record.s !== 'server')
      .filter(({ at, w = [] }) => at < read.record.v && w.includes(read.record.path))
      .map(({ at }) => at)
    const v = [0, ...older][Math.floor(random() * (older.length + 1))]!
    read.record = { ...read.record, v, pos: v }
    planted.push(read)
  }
  return planted
}

describe('random histories', () => {
  test('a history that keeps every promise has no violation, whichever part records and whatever is left out', () => {
    let undecided = 0
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const random = createRandom(seed).next
      const history = createModelHistory(optionsFrom(random))
      const all = recordsOf(history)
      const { violations } = check(all, { isComplete: true, settleMs: 4000 })
      expect(violations.map(formatViolation), `seed ${seed}`).toEqual([])
      const unrecorded = `s${Math.floor(random() * 3)}`
      const part = check(all.filter(({ s, op }) => op === 'session' || s !== unrecorded))
      expect(part.violations.map(formatViolation), `seed ${seed} without ${unrecorded}`).toEqual([])
      undecided += part.summary.undecided.times
    }
    expect(undecided).toBeGreaterThan(0)
  })

  test('every broken promise is found, with its kind, and no kept one is reported', () => {
    const found = Object.fromEntries(PROMISES.map(promised => [promised, 0]))
    let planted = 0
    let inDoubt = 0
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const random = createRandom(1000 + seed).next
      const history = createModelHistory(optionsFrom(random))
      planted += plant(history, random).length
      const { names, violations } = check(recordsOf(history), { isComplete: true, settleMs: 4000 })
      const broken = judgeNaively(history, 0)
      for (const name of names) expect(broken, `seed ${seed}: accused wrongly of ${name}`).toContain(name)
      // A promise broken by less than the doubt of the clocks may or may not be found: the clocks may happen to be known better.
      for (const name of judgeNaively(history, history.doubtUsMax)) {
        expect(names, `seed ${seed}: not found: ${name}`).toContain(name)
      }
      inDoubt += [...broken].filter(name => !names.has(name)).length
      for (const { promised } of violations) found[promised]!++
    }
    for (const promised of PROMISES)
      expect(found[promised], `${planted} planted, ${inDoubt} in doubt`).toBeGreaterThan(20)
  })

  test('within one clock nothing is in doubt', () => {
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const random = createRandom(5000 + seed).next
      const history = createModelHistory({ ...optionsFrom(random), clocks: 1, serverRecords: false })
      plant(history, random)
      const { names, summary } = check(recordsOf(history), { isComplete: true })
      expect([...names].sort(), `seed ${seed}`).toEqual([...judgeNaively(history, 0)].sort())
      expect(summary.undecided.times).toBe(0)
    }
  })
})

/** Two sessions of one process, and one elsewhere whose clock is 1 s ahead, give or take 10 ms. */
const A = { f: 1, op: 'session', s: 'a', c: 'here', log: 'x', t: 0, lo: 0, hi: 0 } as const
const B = { ...A, s: 'b' } as const
const C = { ...A, s: 'c', c: 'there', lo: -1_010_000, hi: -990_000 } as const
const LATER = 10_000_000

function write(s: string, e: number, at: number, paths: Partial<WriteRecord> = { w: ['/p'] }): WriteRecord {
  return { f: 1, op: 'write', s, b: e - 1000, e, at, ...paths }
}

function read(s: string, b: number, v: number, more: Partial<ReadRecord> = {}): ReadRecord {
  return { f: 1, op: 'read', s, path: '/p', b, e: b + 1000, within: 0, v, pos: v, by: 'shared cache', ...more }
}

function later(session: typeof A | typeof B | typeof C) {
  return { ...session, t: session.t + LATER }
}

function kinds(records: readonly HistoryRecord[], options: HistoryCheckerOptions = { isComplete: true }): string[] {
  return check(records, options).violations.map(({ promised }) => promised)
}

describe('a planted bug', () => {
  test('a stale read is reported with the write it missed, who acknowledged it when, and where it was served from', () => {
    const { violations } = check([A, B, write('a', 2000, 1), write('a', 10_000, 2), read('b', 35_500, 1)])
    expect(violations.map(formatViolation)).toEqual([
      [
        'current broken: session b read /p, promised within 0 ms',
        '  began at 0.035500 s, ended at 0.036500 s (clock here)',
        '  got version 1 of position 1, served from: shared cache',
        '  missed the write at position 2, acknowledged to a at 0.010000 s (clock here)',
        '  that was 25.5 ms before the read began',
      ].join('\n'),
    ])
  })

  test('a read at its promised age is not accused; one that is slightly older is', () => {
    const history = [A, B, write('a', 2000, 1), write('a', 10_000, 2)]
    expect(kinds([...history, read('b', 60_000, 1, { within: 50 })])).toEqual([])
    expect(kinds([...history, read('b', 60_001, 1, { within: 50 })])).toEqual(['current'])
  })

  test('a lost own write is found', () => {
    const history = [A, write('a', 2000, 1), write('a', 10_000, 2)]
    expect(kinds([...history, read('a', 11_000, 1, { within: 5000 })])).toEqual(['own write'])
    expect(kinds([...history, read('a', 9500, 1, { within: 5000 })])).toEqual([])
  })

  test('going back is found, but not between reads that overlap', () => {
    const history = [A, read('a', 1000, 7, { e: 5000 })]
    expect(kinds([...history, read('a', 5001, 6)])).toEqual(['monotonic'])
    expect(kinds([...history, read('a', 4999, 6)])).toEqual([])
  })

  test('going back is found after a hand-over to another device, and to a third', () => {
    const token = { f: 1, op: 'token', s: 'a', t: 9000, token: 'aa' } as const
    const next = { f: 1, op: 'token', s: 'c', t: 1_020_000, token: 'cc' } as const
    const history = [A, read('a', 1000, 7), token, { ...C, from: 'aa' }]
    expect(kinds([...history, read('c', 1_011_000, 6)])).toEqual(['monotonic'])
    expect(kinds([...history, next, { ...B, from: 'cc' }, read('b', 30_000, 6)])).toEqual(['monotonic'])
    // What the session saw after the token was taken was not handed on.
    expect(
      kinds([A, read('a', 1000, 5), token, read('a', 9500, 7), { ...C, from: 'aa' }, read('c', 1_011_000, 6)]),
    ).toEqual([])
  })

  test('a session whose token was not recorded is not accused, and the summary says so', () => {
    const { violations, summary } = check([A, read('a', 1000, 7), { ...C, from: 'zz' }, read('c', 1_011_000, 6)])
    expect(violations).toEqual([])
    expect(summary).toMatchObject({ handOvers: 1, undecided: { handOvers: 1 } })
  })

  test('falling behind the session position is found, whatever the clocks say', () => {
    const history = [A, C, write('a', 2000, 1), write('a', 50_000, 2)]
    expect(kinds([...history, read('c', 5000, 1, { sp: 2, within: 60_000 })])).toEqual(['position'])
  })

  test('a created object that is missing is found, unless it may have been deleted, recorded or not', () => {
    const history = [A, B, write('a', 2000, 1)]
    const gone = read('b', 35_500, 0, { pos: 1 })
    expect(kinds([...history, gone])).toEqual(['current'])
    expect(kinds([...history, write('a', 36_000, 2, { d: ['/p'] }), gone])).toEqual([])
    expect(kinds([...history, gone, write('a', 90_000, 2, { d: ['/p'] })])).toEqual(['current'])
    const { violations, summary } = check([...history, gone])
    expect(violations).toEqual([])
    expect(summary.undecided.absence).toBe(1)
  })

  test('seeing a deleted object again is found', () => {
    expect(kinds([A, read('a', 1000, 0, { pos: 9 }), read('a', 5000, 8)])).toEqual(['monotonic'])
  })

  test('another log has other positions', () => {
    const elsewhere = { ...A, s: 'd', log: 'y' } as const
    expect(kinds([A, elsewhere, write('a', 2000, 9), read('d', 5000, 1)])).toEqual([])
  })
})

describe('between clocks', () => {
  const history = [A, C, write('a', 2000, 1), write('a', 500_000, 2)]
  const end = [later(A), later(C)]

  test('times within the doubt are not decided; times outside it are', () => {
    // By the clock here, the read began 500 ms + 5 ms, give or take 10 (and drift).
    const near = check([...history, read('c', 1_505_000, 1), ...end])
    expect(near.violations).toEqual([])
    expect(near.summary.undecided.times).toBe(1)
    const far = check([...history, read('c', 1_600_000, 1), ...end])
    expect(far.violations.map(({ promised }) => promised)).toEqual(['current'])
    expect(far.violations[0]!.acknowledgedMsBefore!.least).toBeGreaterThan(0)
    const before = check([...history, read('c', 1_300_000, 1), ...end])
    expect(before).toMatchObject({ violations: [], summary: { undecided: { times: 0 } } })
  })

  test('a time without a later sample is only known to be after the earlier sample', () => {
    const inBetween = { ...C, t: 1_700_000 }
    const early = check([...history, read('c', 1_600_000, 1), later(A)])
    expect(early).toMatchObject({ violations: [], summary: { undecided: { times: 1 } } })
    const late = check([...history, inBetween, read('c', 1_700_001, 1), later(A)])
    expect(late.violations.map(({ promised }) => promised)).toEqual(['current'])
    expect(formatViolation(late.violations[0]!)).toMatch(/that was [0-9.]+ ms or more before/)
    expect(check([...history, inBetween, read('c', 1_700_001, 1)]).violations).toEqual([])
  })

  test('a clock that slept in between is in doubt for as long as it slept', () => {
    const slept = { ...later(C), lo: C.lo + 400_000, hi: C.hi + 400_000 }
    expect(check([...history, read('c', 1_600_000, 1), later(A), slept]).violations).toHaveLength(1)
    const fellBack = { ...later(C), lo: C.lo - 400_000, hi: C.hi - 400_000 }
    expect(check([...history, read('c', 1_600_000, 1), later(A), fellBack]).violations).toEqual([])
  })

  test("the server's own recording makes absence decidable, from its first position on", () => {
    const server = { ...A, s: 'srv', c: 'server', role: 'server', part: [0, 1] } as const
    const gone = read('c', 1_600_000, 0, { pos: 2 })
    const ended = [...end, { ...server, t: LATER, pos: 2 }]
    const acknowledged = write('srv', 499_000, 2)
    expect(kinds([{ ...server, pos: 0 }, ...history, acknowledged, gone, ...ended], {})).toEqual(['current'])
    expect(kinds([...history, { ...server, pos: 3 }, gone, ...ended], {})).toEqual([])
    const isHalf = (record: HistoryRecord) => ('part' in record ? { ...record, part: [0, 2] as const } : record)
    expect(kinds([{ ...server, pos: 0 }, ...history, acknowledged, gone, ...ended].map(isHalf), {})).toEqual([])
  })
})

describe('the summary', () => {
  test('says how stale reads were, and where they were served from', () => {
    const history = [A, B, write('a', 2000, 1), write('a', 10_000, 2)]
    const reads = [
      ...Array.from({ length: 9 }, (_, i) => read('b', 20_000 + i, 1, { within: 1000 })),
      read('b', 110_000, 1, { within: 1000, by: 'memory' }),
      read('b', 120_000, 2, { by: 'server' }),
    ]
    const { summary } = check([...history, ...reads])
    expect(summary.servedFrom).toEqual({
      'shared cache': { reads: 9, stale: 9, broken: 0 },
      memory: { reads: 1, stale: 1, broken: 0 },
      server: { reads: 1, stale: 0, broken: 0 },
    })
    expect(summary.staleness.count).toBe(10)
    expect(summary.staleness.p50).toBeCloseTo(10, -0.3)
    expect(summary.staleness.max).toBe(100)
  })

  test('lines without a session line before them are counted, not judged', () => {
    const { summary, violations } = check([read('a', 1, 7), read('a', 5000, 6)])
    expect({ violations, lines: summary.undecided.lines }).toEqual({ violations: [], lines: 2 })
  })

  test('memory stays within bounds, and what had to be forgotten is reported', () => {
    const bounds = { pathsMax: 100, pairsMax: 100, sessionsMax: 10, readsMax: 50, settleMs: 1e9 }
    const paths = Array.from({ length: 2000 }, (_, i) => `/p${i}`)
    const history: HistoryRecord[] = paths.flatMap((path, i) => [
      write('a', 10_000 * i + 5000, i + 1, { w: [path] }),
      read('a', 10_000 * i + 6000, i + 1, { path }),
    ])
    const { summary, violations } = check([A, ...history, read('a', 1e9, 0, { path: '/p0' })], bounds)
    expect(violations).toEqual([])
    expect(summary.undecided.forgotten).toBeGreaterThan(3000)
  })
})
