/**
 * Times of different clocks, made comparable: each is a range of server time that certainly contains it.
 *
 * A clock is known by samples: at `t` the server's was ahead by `lo` to `hi`. Between two samples both clocks may drift,
 * one may have slept and the other may have stood still. So a time is placed in the range that spans the samples on
 * either side of it, each widened by the drift of quartz. A time after the last sample is only known to be later than that
 * sample, and a time before the first sample to be earlier.
 *
 * It is wrong only if a clock slept and the server's stood still for the same length of time between the same two samples,
 * or in the seconds before a crash of the server, since its clock may then go through some seconds twice.
 */
export interface TimeRange {
  readonly lo: number
  readonly hi: number
}

/** How far the server's clock was ahead of this one, at a time of this one. */
interface Sample extends TimeRange {
  readonly t: number
}

const DRIFT_MAX = 0.0005
/** Closer samples add nothing. */
const SPACING_US = 200_000
const SAMPLES_MAX = 512
const NONE: readonly Sample[] = []

export class ServerTimes {
  readonly #clocks = new Map<string, Sample[]>()

  /** Samples of one clock come in order; those that do not are left out. */
  add(clock: string, sample: Sample): void {
    const samples = this.#clocks.get(clock)
    if (samples === undefined) this.#clocks.set(clock, [sample])
    else if (sample.t >= samples.at(-1)!.t + SPACING_US) {
      samples.push(sample)
      if (samples.length > SAMPLES_MAX) samples.splice(0, SAMPLES_MAX / 2)
    }
  }

  /** Infinite on a side that has no sample. */
  place(clock: string, timeUs: number): TimeRange {
    const samples = this.#clocks.get(clock) ?? NONE
    const after = firstAfter(samples, timeUs)
    const [a, b] = [samples[after - 1], samples[after]]
    if (a === undefined)
      return { lo: Number.NEGATIVE_INFINITY, hi: b === undefined ? Number.POSITIVE_INFINITY : b.t + b.hi }
    if (b === undefined) return { lo: a.t + a.lo, hi: Number.POSITIVE_INFINITY }
    const [driftA, driftB] = [DRIFT_MAX * (timeUs - a.t), DRIFT_MAX * (b.t - timeUs)]
    return {
      lo: timeUs + Math.min(a.lo - driftA, b.lo - driftB),
      hi: timeUs + Math.max(a.hi + driftA, b.hi + driftB),
    }
  }

  /** About when it was, for uses that need no certainty. */
  estimate(clock: string, timeUs: number): number {
    const sample = this.#clocks.get(clock)?.at(-1)
    return sample === undefined ? timeUs : timeUs + (sample.lo + sample.hi) / 2
  }

  /** The middle of the range, about. */
  about({ clock, us }: Moment): number {
    const { lo, hi } = this.place(clock, us)
    return Number.isFinite(lo) && Number.isFinite(hi) ? (lo + hi) / 2 : this.estimate(clock, us)
  }

  /** At least until when every time of this clock can be placed, in server time. */
  knownUntil(clock: string): number {
    const sample = this.#clocks.get(clock)?.at(-1)
    return sample === undefined ? Number.NEGATIVE_INFINITY : sample.t + sample.lo
  }
}

function firstAfter(samples: readonly Sample[], timeUs: number): number {
  // Nearly always among the last few.
  let index = samples.length
  while (index > 0 && samples[index - 1]!.t > timeUs) index--
  return index
}

/** A time, and the clock it was read from. */
export interface Moment {
  readonly clock: string
  readonly us: number
}

export type Order = 'before' | 'not before' | 'unknown'

/** Whether `a` was more than `byUs` before `b`. Exact within one clock. */
export function isBefore(times: ServerTimes, a: Moment, b: Moment, byUs: number): Order {
  if (a.clock === b.clock) return a.us < b.us - byUs ? 'before' : 'not before'
  const [rangeA, rangeB] = [times.place(a.clock, a.us), times.place(b.clock, b.us)]
  if (rangeA.hi < rangeB.lo - byUs) return 'before'
  return rangeA.lo >= rangeB.hi - byUs ? 'not before' : 'unknown'
}
