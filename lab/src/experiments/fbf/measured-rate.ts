/** A rate counted by probing, with its standard error. */

export interface MeasuredRate {
  readonly rate: number
  readonly positives: number
  readonly probes: number
  readonly standardError: number
}

/**
 * From the positives of several filters, each probed equally often. The spread between the filters covers both sources of
 * chance: the probes, and how the keys happened to fall. With few positives the spread is itself a guess, so the standard
 * error is at least that of counting as many positives as `expectedRate` predicts.
 */
export function toMeasuredRate(positives: readonly number[], probesEach: number, expectedRate: number): MeasuredRate {
  const filters = positives.length
  const probes = filters * probesEach
  const total = positives.reduce((sum, count) => sum + count, 0)
  const squares = positives.reduce((sum, count) => sum + (count - total / filters) ** 2, 0)
  const between = filters > 1 ? Math.sqrt(squares / (filters - 1) / filters) / probesEach : 0
  const counting = Math.sqrt(Math.max(expectedRate, 1 / probes) / probes)
  return { rate: total / probes, positives: total, probes, standardError: Math.max(between, counting) }
}

export interface Agreement {
  readonly holds: boolean
  /** True if chance is small enough to compare by share. */
  readonly resolved: boolean
  /** (estimated - measured) / measured */
  readonly deviation: number
}

/** Within `shareMax` of the measured rate, or, where chance is larger than that, within three standard errors. */
export function agrees(estimated: number, measured: MeasuredRate, shareMax: number): Agreement {
  const difference = Math.abs(estimated - measured.rate)
  const resolved = 3 * measured.standardError <= shareMax * measured.rate
  return {
    holds: difference <= Math.max(shareMax * measured.rate, 3 * measured.standardError),
    resolved,
    deviation: measured.rate > 0 ? (estimated - measured.rate) / measured.rate : Number.NaN,
  }
}

/** With fewer positives, a point says more about chance than about the filter, so plots leave it out. */
export function isDrawn(measured: MeasuredRate): boolean {
  return measured.positives >= 5
}
