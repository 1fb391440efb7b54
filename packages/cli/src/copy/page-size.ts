/**
 * How many objects are read at once: as many as have a few MiB together, going by the size of those before. It begins small, for
 * the first may be large.
 */
const FIRST = 32
const GROWTH = 4
const BYTES = 4 * 1024 * 1024

export class PageSize {
  readonly #max: number
  #limit = FIRST

  constructor(max: number) {
    this.#max = max
  }

  get limit(): number {
    return this.#limit
  }

  /** What was read last. It grows only after as many as there could be: a few say little about the rest. */
  note(values: readonly ({ readonly body: Uint8Array } | undefined)[]): void {
    const bytes = values.reduce((sum, value) => sum + (value?.body.length ?? 0), 0)
    const fitting = bytes === 0 ? this.#max : Math.floor((BYTES * values.length) / bytes)
    const growth = values.length < this.#limit ? 1 : GROWTH
    this.#limit = Math.max(1, Math.min(fitting, this.#limit * growth, this.#max))
  }
}
