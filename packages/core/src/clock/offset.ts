/**
 * How far another clock is ahead of ours, as a range that certainly contains the true value.
 *
 * **Cristian** (Probabilistic clock synchronization, 1989). We ask at t0 and are answered at t1, by our clock; the server read s
 * in between. With known least delays there (`thereMin`) and back (`backMin`), it did so between t0 + thereMin and
 * t1 - backMin. So when the answer comes the server's clock shows something in [s + backMin, s + (t1 - t0) - thereMin]; the
 * middle of that range is wrong by at most (t1 - t0 - thereMin - backMin) / 2. (Lecture notes print the error as
 * (RTT - min2 + min1) / 2; with that sign a longer known delay would make it worse.)
 *
 * **NTP** (Mills 1991). The server receives at r and answers at s, by its clock. Then its clock is ahead by
 * ((r - t0) + (s - t1)) / 2, and that is wrong by at most half of the time on the way, ((t1 - t0) - (s - r)) / 2. The sign is
 * that of "the server is ahead", for r = t0 + there + offset and t1 = s + back - offset. (Notes that say that the child is
 * ahead have swapped parent and child.)
 *
 * Any unit of time works, if it is the same everywhere.
 */
import { offsetMost } from './offset-most.js'

export interface OffsetRange {
  readonly least: number
  readonly most: number
}

export interface CristianExchange {
  readonly asked: number
  readonly answered: number
  readonly server: number
  /** The server's clock reads `server`, or up to this much more: it gives whole milliseconds, rounded down. */
  readonly serverStep?: number
  readonly thereMin?: number
  readonly backMin?: number
}

export function cristianOffset(exchange: CristianExchange): OffsetRange {
  const { asked, answered, server, serverStep = 0, thereMin = 0, backMin = 0 } = exchange
  return { least: server - (answered - backMin), most: offsetMost(server + serverStep, asked + thereMin) }
}

export interface NtpExchange {
  readonly asked: number
  readonly received: number
  readonly sent: number
  readonly answered: number
}

/** The range is half the time on the way to either side of the middle. This assumes only that no delay is negative. */
export function ntpOffset({ asked, received, sent, answered }: NtpExchange): OffsetRange {
  return { least: sent - answered, most: received - asked }
}

export function middleOf({ least, most }: OffsetRange): number {
  return (least + most) / 2
}

/** How far the middle may be from the truth. */
export function errorOf({ least, most }: OffsetRange): number {
  return (most - least) / 2
}

/** The same range `elapsed` later, if either clock may run wrong by this share. */
export function afterDrift({ least, most }: OffsetRange, elapsed: number, driftMax: number): OffsetRange {
  const drift = 2 * driftMax * Math.abs(elapsed)
  return { least: least - drift, most: most + drift }
}

/** How often to ask so that two clocks that drift are never further apart than `skewMax`: M / (2 x drift). */
export function resynchroniseEvery(skewMax: number, driftMax: number): number {
  return skewMax / (2 * driftMax)
}

interface Sample extends OffsetRange {
  readonly at: number
}

/** The best of the last exchanges: each is widened by the drift since then, and the truth lies where they overlap. */
export class OffsetFilter {
  readonly #driftMax: number
  readonly #samplesMax: number
  #samples: Sample[] = []

  constructor(options: { readonly driftMax: number; readonly samplesMax: number }) {
    this.#driftMax = options.driftMax
    this.#samplesMax = options.samplesMax
  }

  /** Exchanges must be added in order of `at`, our time when the answer came. */
  add(range: OffsetRange, at: number): void {
    const narrowest = this.at(at)
    // Ranges that do not overlap: one of the clocks was set, so the older samples are void.
    if (range.least > narrowest.most || range.most < narrowest.least) this.#samples = []
    this.#samples.push({ ...range, at })
    if (this.#samples.length > this.#samplesMax) this.#samples.shift()
  }

  /** Infinite on both sides if there is no sample. */
  at(now: number): OffsetRange {
    const ranges = this.#samples.map(sample => afterDrift(sample, now - sample.at, this.#driftMax))
    return {
      least: Math.max(Number.NEGATIVE_INFINITY, ...ranges.map(range => range.least)),
      most: Math.min(Number.POSITIVE_INFINITY, ...ranges.map(range => range.most)),
    }
  }
}
