/** A ballot: who proposes, in which round. No two proposers have the same, so of two there is always a higher one. */
export interface Ballot {
  readonly round: number
  /** The proposer's own, unlike any other's, and unlike what it had before it was started anew. */
  readonly proposer: string
}

/** Before all others. */
export const NO_BALLOT: Ballot = { round: 0, proposer: '' }

export function compareBallots(a: Ballot, b: Ballot): number {
  if (a.round !== b.round) return a.round - b.round
  if (a.proposer === b.proposer) return 0
  return a.proposer < b.proposer ? -1 : 1
}

export function isSameBallot(a: Ballot, b: Ballot): boolean {
  return compareBallots(a, b) === 0
}

/** More than half of so many nodes: any two of these have a node in common. */
export function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1
}
