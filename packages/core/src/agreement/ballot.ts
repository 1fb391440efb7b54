/** A ballot: a proposer and its round. No two proposers share one, so of two ballots one is always higher. */
export interface Ballot {
  readonly round: number
  /** The proposer's own name, unlike any other's, and unlike its name before a restart. */
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

/** More than half of the nodes: any two majorities have a node in common. */
export function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1
}
