/**
 * A map that stays within bounds by forgetting the entries that were not read for longest, in two generations: when the
 * young one is full it becomes the old one, and the old one is forgotten. An entry found in the old one moves to the young.
 */
export class Generations<Value> {
  readonly #entriesMax: number
  #young = new Map<string, Value>()
  #old = new Map<string, Value>()
  /** How many entries were forgotten. */
  forgotten = 0

  /** Holds at least the last `entriesMax` entries, and at most twice as many. */
  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old === undefined) return undefined
    this.#old.delete(key)
    this.set(key, old)
    return old
  }

  set(key: string, value: Value): void {
    this.#young.set(key, value)
    if (this.#young.size < this.#entriesMax) return
    this.forgotten += this.#old.size
    this.#old = this.#young
    this.#young = new Map()
  }

  getOrCreate(key: string, create: () => Value): Value {
    const found = this.get(key)
    if (found !== undefined) return found
    const created = create()
    this.set(key, created)
    return created
  }
}
