/**
 * The order in which replicas are asked. The nearest is the one that takes the least time to return a current answer: if it
 * answers in t ms, and a share p of its answers is current, that takes t / p. (Searching places that cost t each and succeed
 * with probability p takes the least time on average in the order of t / p.)
 *
 * Replicas that are about as near take turns.
 */
export interface Nearness {
  /** How long it has taken to answer, lately. */
  readonly answerMs: number
  /** Which share of its answers has been current, lately. */
  readonly currentShare: number
}

/** Anything faster counts as immediate. */
const AT_ONCE_MS = 1
const ABOUT_AS_NEAR = 1.25
const SHARE_MIN = 0.01
/** A replica is slow if its answers take SLOW_TIMES as long as the primary's, and SLOW_MS more. */
const SLOW_TIMES = 4
const SLOW_MS = 50

export function nearestFirst<Each extends Nearness>(all: readonly Each[], turn: number): readonly Each[] {
  if (all.length < 2) return all
  const sorted = [...all].sort((a, b) => msUntilCurrent(a) - msUntilCurrent(b))
  const nearMs = ABOUT_AS_NEAR * msUntilCurrent(sorted[0]!)
  const near = sorted.filter(each => msUntilCurrent(each) <= nearMs)
  const first = turn % near.length
  return [...near.slice(first), ...near.slice(0, first), ...sorted.slice(near.length)]
}

/** A reader would have waited less for the primary. */
export function isSlow({ answerMs }: Nearness, primaryMs: number): boolean {
  return answerMs > SLOW_MS + SLOW_TIMES * primaryMs
}

function msUntilCurrent({ answerMs, currentShare }: Nearness): number {
  return Math.max(answerMs, AT_ONCE_MS) / Math.max(currentShare, SHARE_MIN)
}
