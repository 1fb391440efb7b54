/**
 * Timestamps of a key: they only grow. Two numbers, of which the first weighs more: the tenure of the responsible peer that gave
 * it, and how many it had given. 106 bits in all.
 *
 * The paper has the counter alone. Then a peer that takes over from a failed one must know every timestamp that was
 * ever handed out, including those still on their way to be stored. With tenures it need not: its own are higher from the first.
 * Where tenures are not used (see `tenures.ts`) the first number is 0 and the second is the paper's counter.
 */
export interface Timestamp {
  readonly tenure: number
  readonly count: number
}

/** Below every timestamp that is given. */
export const NO_TIMESTAMP: Timestamp = { tenure: 0, count: 0 }

export function compareTimestamps(a: Timestamp, b: Timestamp): number {
  return a.tenure - b.tenure || a.count - b.count
}

export function laterOf(a: Timestamp, b: Timestamp): Timestamp {
  return compareTimestamps(a, b) >= 0 ? a : b
}

export function nextAfter({ tenure, count }: Timestamp): Timestamp {
  return { tenure, count: count + 1 }
}
