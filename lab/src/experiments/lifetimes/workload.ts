/**
 * Reads and writes over two days, the same for every policy.
 *
 * Reads are Zipf-distributed over the keys. How often a key is written does not depend on how often it is read, and spans
 * six orders of magnitude: a few keys every few seconds (stock, scores), some every few minutes to hours (prices, comments),
 * most hardly ever. Within a key, writes come at random times; some of the warm keys are edited in bursts.
 */
import { type Key, type Path, pathOfKey } from '@freshet/protocol'
import type { Random } from '../../harness/random.js'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
export const DAY: number = 24 * HOUR

const ZIPF_EXPONENT = 0.9
/** Share of the keys, and the shortest and longest mean time between their writes. */
const GROUPS = [
  { name: 'hot', share: 0.005, intervalsMs: [5 * SECOND, 2 * MINUTE] },
  { name: 'warm', share: 0.1, intervalsMs: [2 * MINUTE, 12 * HOUR] },
  { name: 'stable', share: 0.895, intervalsMs: [5 * DAY, 200 * DAY] },
] as const
/** Every third warm key is written this many times in a row, and the pause is longer by the same factor. */
const BURST = 4
const BURST_GAP_MS = 20 * SECOND

export type EventKind = 'write' | 'plain read' | 'session read'

export interface Workload {
  readonly keys: readonly Key[]
  readonly paths: readonly Path[]
  readonly durationMs: number
  /** Nothing is counted before this time. */
  readonly countedFromMs: number
  readonly events: readonly LoadEvent[]
}

export interface LoadEvent {
  readonly timeMs: number
  readonly kind: EventKind
  /** The index of the key. */
  readonly key: number
}

export interface WorkloadOptions {
  readonly keys: number
  readonly readsPerSecond: number
}

export function createWorkload({ keys, readsPerSecond }: WorkloadOptions, random: Random): Workload {
  const durationMs = 2 * DAY
  const names = Array.from({ length: keys }, (_, i) => `shop/products/${i}`)
  const events = [
    ...readsOf(keys, readsPerSecond, durationMs, random.fork('reads')),
    ...writesOf(keys, durationMs, random.fork('writes')),
  ]
  return {
    keys: names,
    paths: names.map(pathOfKey),
    durationMs,
    countedFromMs: durationMs / 2,
    events: events.sort((a, b) => a.timeMs - b.timeMs),
  }
}

function readsOf(keys: number, perSecond: number, durationMs: number, random: Random): LoadEvent[] {
  const shares = zipfSums(keys)
  const byRank = random.shuffle(Array.from({ length: keys }, (_, i) => i))
  const events: LoadEvent[] = []
  for (let timeMs = 0; ; ) {
    timeMs += random.exponential(perSecond / SECOND)
    if (timeMs >= durationMs) return events
    const kind = random.float() < 0.5 ? 'plain read' : 'session read'
    events.push({ timeMs, kind, key: byRank[rankOf(shares, random.float())]! })
  }
}

function zipfSums(keys: number): Float64Array {
  const sums = new Float64Array(keys)
  let sum = 0
  for (let rank = 0; rank < keys; rank++) {
    sum += 1 / (rank + 1) ** ZIPF_EXPONENT
    sums[rank] = sum
  }
  return sums.map(value => value / sum)
}

function rankOf(sums: Float64Array, share: number): number {
  let [low, high] = [0, sums.length - 1]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sums[middle]! <= share) low = middle + 1
    else high = middle
  }
  return low
}

function writesOf(keys: number, durationMs: number, random: Random): LoadEvent[] {
  const events: LoadEvent[] = []
  let key = 0
  for (const { name, share, intervalsMs } of GROUPS) {
    const end = name === 'stable' ? keys : key + Math.round(share * keys)
    for (; key < end; key++) {
      const intervalMs = logUniform(intervalsMs, random)
      const burst = name === 'warm' && key % 3 === 0 ? BURST : 1
      for (const timeMs of writeTimes(intervalMs, burst, durationMs, random))
        events.push({ timeMs, kind: 'write', key })
    }
  }
  return events
}

function writeTimes(intervalMs: number, burst: number, durationMs: number, random: Random): number[] {
  const times: number[] = []
  for (let timeMs = random.exponential(1 / intervalMs); timeMs < durationMs; ) {
    for (let i = 0; i < burst; i++) times.push(timeMs + i * BURST_GAP_MS)
    timeMs += random.exponential(1 / (intervalMs * burst)) + (burst - 1) * BURST_GAP_MS
  }
  return times.filter(timeMs => timeMs < durationMs)
}

function logUniform([least, most]: readonly [number, number], random: Random): number {
  return least * (most / least) ** random.float()
}
