/**
 * The most recent items of a kind, in the memory of this process. They are only for display: nothing depends on them. If
 * several processes serve the same data, each has its own items, and the ids distinguish them.
 */
export interface RecentItem {
  /** `{pid}-{number}` */
  readonly id: string
  /** The time of day. */
  readonly timeMs: number
}

export class Recent<Item extends object> {
  readonly #max: number
  #items: (RecentItem & Item)[] = []
  #count = 0

  constructor(max: number) {
    this.#max = max
  }

  add(item: Item): void {
    this.#items.push({ id: `${process.pid}-${++this.#count}`, timeMs: Date.now(), ...item })
    // Only from time to time, since moving all items costs more than keeping some too many.
    if (this.#items.length > 2 * this.#max) this.#items = this.#items.slice(-this.#max)
  }

  /** Oldest first. */
  list(): readonly (RecentItem & Item)[] {
    return this.#items.slice(-this.#max)
  }
}

/** The kinds of items that are remembered. */
export type RecentKind = 'conflicts' | 'lines'

/** Given the items of this process, returns those of all processes that serve the same data. */
export type AllRecent = (kind: RecentKind, own: readonly RecentItem[]) => Promise<readonly RecentItem[]>
