/** One run of an adapting forgetful filter under a varying load, compared with an exact record of what it must remember. */
import { createForgetfulBloom, type ForgetfulBloom } from '@freshet/bloom'
import type { Progress } from '../../harness/experiment.js'
import { LiteralForgetful, type LiteralOptions } from './literal-forgetful.js'
import { ABSENT, INSERTED, numberedKey } from './numbered-key.js'
import { type LoadPoint, loadAt, runLoad } from './varying-load.js'

export const SIZE = { bits: 6250, hashes: 5 }
export const START = { pastFilters: 1, refreshMs: 11_000 }
export const TARGET_RATE = 0.01
/** The clients' retry window. The paper names none for this figure; (N + 1) t starts at 22 s. */
export const WINDOW_MS = 20_000
export const SAMPLE_MS = 250

/** Steady for longer than the filter reaches back, then up, down, low for a while, up higher and down again. */
export const LOAD: readonly LoadPoint[] = [
  { second: 0, perSecond: 20 },
  { second: 26, perSecond: 20 },
  { second: 34, perSecond: 90 },
  { second: 40, perSecond: 15 },
  { second: 55, perSecond: 5 },
  { second: 65, perSecond: 150 },
  { second: 75, perSecond: 150 },
  { second: 85, perSecond: 20 },
  { second: 120, perSecond: 10 },
]

export interface Sample {
  readonly second: number
  readonly perSecond: number
  readonly estimated: number
  readonly measured: number
  readonly filters: number
  readonly pastFilters: number
  readonly refreshMs: number
}

export interface AdaptiveRun {
  readonly samples: readonly Sample[]
  readonly operations: number
  /** Checks of an id younger than the window, and how many were denied. */
  readonly checks: number
  readonly denied: number
}

export interface AdaptiveSettings {
  readonly seed: bigint
  readonly probes: number
  readonly progress: Progress
}

export function runAdaptive({ seed, probes, progress }: AdaptiveSettings): AdaptiveRun {
  const adaptation = { falsePositiveRateMax: TARGET_RATE, windowMs: WINDOW_MS }
  const filter = createForgetfulBloom({ ...SIZE, ...START, seed, adaptation })
  const record = new RecentIds()
  const samples: Sample[] = []
  runLoad(LOAD, SAMPLE_MS, {
    onOperation: (id, nowMs) => {
      filter.add(numberedKey(INSERTED, id), nowMs)
      record.added(id, nowMs)
    },
    onSample: nowMs => {
      progress(nowMs, LOAD.at(-1)!.second * 1000)
      record.check(nowMs, id => filter.has(numberedKey(INSERTED, id), nowMs))
      samples.push(takeSample(filter, nowMs, probes))
    },
  })
  return { samples, operations: record.count, checks: record.checks, denied: record.denied.size }
}

function takeSample(filter: ForgetfulBloom, nowMs: number, probes: number): Sample {
  filter.advance(nowMs)
  let positives = 0
  for (let i = 0; i < probes; i++) if (filter.has(numberedKey(ABSENT, i), nowMs)) positives++
  return {
    second: nowMs / 1000,
    perSecond: loadAt(LOAD, nowMs / 1000),
    estimated: filter.estimatedRate(),
    measured: positives / probes,
    filters: filter.filters,
    pastFilters: filter.pastFilters,
    refreshMs: filter.refreshMs,
  }
}

export interface LiteralRun {
  readonly operations: number
  readonly checks: number
  /** Ids that were denied at least once while younger than the window. */
  readonly denied: number
  readonly filtersMax: number
  /** By the filter's own estimate. */
  readonly rateMax: number
}

/** The same load through the paper's algorithms. */
export function runLiteral(options: Omit<LiteralOptions, 'size'>): LiteralRun {
  const filter = new LiteralForgetful({ size: SIZE, ...options })
  const record = new RecentIds()
  let filtersMax = 0
  let rateMax = 0
  runLoad(LOAD, SAMPLE_MS, {
    onOperation: (id, nowMs) => {
      filter.insert(id, nowMs)
      record.added(id, nowMs)
    },
    onSample: nowMs => {
      record.check(nowMs, id => filter.has(id, nowMs))
      filtersMax = Math.max(filtersMax, filter.filters)
      rateMax = Math.max(rateMax, filter.estimatedRate())
    },
  })
  return { operations: record.count, checks: record.checks, denied: record.denied.size, filtersMax, rateMax }
}

/** Exactly which ids are younger than the window. */
class RecentIds {
  count = 0
  checks = 0
  readonly denied: Set<number> = new Set()
  readonly #addedMs = new Map<number, number>()

  added(id: number, nowMs: number): void {
    this.count++
    this.#addedMs.set(id, nowMs)
  }

  check(nowMs: number, isKnown: (id: number) => boolean): void {
    for (const [id, addedMs] of this.#addedMs) {
      if (nowMs - addedMs >= WINDOW_MS) {
        this.#addedMs.delete(id)
      } else {
        this.checks++
        if (!isKnown(id)) this.denied.add(id)
      }
    }
  }
}
