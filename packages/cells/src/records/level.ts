/** How many replicas must take a write, or answer a read, before the caller gets an answer. W + R > N makes reads see writes. */
export const WRITE_LEVELS = ['ANY', 'ONE', 'QUORUM', 'ALL'] as const
export const READ_LEVELS = ['ONE', 'QUORUM', 'ALL', 'CURRENT'] as const

/** ANY: a hint that is kept for a replica counts as the replica. */
export type WriteLevel = (typeof WRITE_LEVELS)[number]
/** CURRENT: the cell that the key's holder says is the latest, from the nearest replica that has it. */
export type ReadLevel = (typeof READ_LEVELS)[number]

function majorityOf(replicas: number): number {
  return Math.floor(replicas / 2) + 1
}

export function neededAt(level: WriteLevel | ReadLevel, replicas: number): number {
  if (level === 'ALL') return replicas
  return level === 'QUORUM' || level === 'CURRENT' ? majorityOf(replicas) : Math.min(1, replicas)
}

/**
 * Whether these nodes are enough of the replicas. While the layout changes, a key has two sets of replicas, and enough of both
 * are needed: so every operation before and every operation after the change have a replica in common with it.
 */
export function isEnough(
  names: ReadonlySet<string>,
  sets: readonly (readonly string[])[],
  level: WriteLevel | ReadLevel,
): boolean {
  return sets.every(set => set.filter(name => names.has(name)).length >= neededAt(level, set.length))
}
