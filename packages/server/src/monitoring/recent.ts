/**
 * The last so many of something. In memory, and of this process: for looking at, nothing relies on it. Where several processes serve the same
 * data, each has its own, and ids tell them apart.
 */
export interface RecentItem {
  /** `{pid}-{number}` */
  readonly id: string
  /** Of the day. */
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
    // Now and then, since moving all of them is dearer than having a few too many.
    if (this.#items.length > 2 * this.#max) this.#items = this.#items.slice(-this.#max)
  }

  /** The oldest first. */
  list(): readonly (RecentItem & Item)[] {
    return this.#items.slice(-this.#max)
  }
}

/** What is remembered so. */
export type RecentKind = 'conflicts' | 'lines'

/** That of all processes that serve the same data, given that of this one. */
export type AllRecent = (kind: RecentKind, own: readonly RecentItem[]) => Promise<readonly RecentItem[]>
