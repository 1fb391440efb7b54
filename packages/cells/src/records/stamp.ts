/**
 * The stamp of a cell: says which of two writes of a key is the later. First comes the key's timestamp (@freshet/dht,
 * `timestamp.ts`), which is given only once, as a majority ensures; then, for writes that were made without asking a majority,
 * their place beside it.
 *
 *     tenure  count | aside  writer
 *     7       3       0      0        given by the holder of tenure 7: its third
 *     7       3       1      48151    written beside it, by a coordinator that knew of 7.3 and of nothing later
 *     7       4       0      0        the holder's fourth: later than all of those
 *
 * So a write without a majority is later than what its writer knew, and earlier than every timestamp that the writer did not
 * know: it never overrides a write that was acknowledged by a majority meanwhile. No clock is involved.
 */
export interface Stamp {
  readonly tenure: number
  readonly count: number
  readonly aside: number
  /** Drawn at random by each coordinator; 0 in a key's timestamp. */
  readonly writer: number
}

/** Earlier than every stamp that is given. */
export const NO_STAMP: Stamp = { tenure: 0, count: 0, aside: 0, writer: 0 }

export function compareStamps(a: Stamp, b: Stamp): number {
  return a.tenure - b.tenure || a.count - b.count || a.aside - b.aside || a.writer - b.writer
}

export function laterStamp(a: Stamp, b: Stamp): Stamp {
  return compareStamps(a, b) >= 0 ? a : b
}

export function stampOf({ tenure, count }: Pick<Stamp, 'tenure' | 'count'>): Stamp {
  return { tenure, count, aside: 0, writer: 0 }
}

/**
 * The stamp of a write that asked no majority, by a writer that knows of nothing later than `known`. `lastAside` is the highest
 * that this writer has used: after a write that failed, it cannot know whether the stamp is in use.
 */
export function stampBeside({ tenure, count, aside }: Stamp, writer: number, lastAside: number): Stamp {
  return { tenure, count, aside: Math.max(aside, lastAside) + 1, writer }
}

export function showStamp({ tenure, count, aside, writer }: Stamp): string {
  return aside === 0 ? `${tenure}.${count}` : `${tenure}.${count}+${aside} of ${writer}`
}
