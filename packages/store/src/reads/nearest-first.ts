/**
 * In which order replicas are asked. The nearest is the one that takes the least time until it has answered with what is current: with
 * answers in t ms, of which a share p is current, it takes t / p to get one. (To search places of which each costs t and succeeds
 * with p, in the order of t / p, is what takes the least time on average.)
 *
 * Those that are about as near take turns.
 */
export interface Nearness {
  /** How long it takes to answer, lately. */
  readonly answerMs: number
  /** Which share of its answers is current, lately. */
  readonly currentShare: number
}

/** What takes less is as good as at once. */
const AT_ONCE_MS = 1
const ABOUT_AS_NEAR = 1.25
const SHARE_MIN = 0.01
/** A replica that takes so much longer than the primary, and by so much more, is slow. */
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

/** Whoever asks it would have waited less for the primary. */
export function isSlow({ answerMs }: Nearness, primaryMs: number): boolean {
  return answerMs > SLOW_MS + SLOW_TIMES * primaryMs
}

function msUntilCurrent({ answerMs, currentShare }: Nearness): number {
  return Math.max(answerMs, AT_ONCE_MS) / Math.max(currentShare, SHARE_MIN)
}
