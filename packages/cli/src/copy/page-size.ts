/**
 * How many objects to read at once: as many as take a few MiB together, estimated from the size of those before. The first page
 * is small, because its objects may be large.
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

  /** Takes the page that was read last. The limit grows only after a full page: a few objects say little about the rest. */
  note(values: readonly ({ readonly body: Uint8Array } | undefined)[]): void {
    const bytes = values.reduce((sum, value) => sum + (value?.body.length ?? 0), 0)
    const fitting = bytes === 0 ? this.#max : Math.floor((BYTES * values.length) / bytes)
    const growth = values.length < this.#limit ? 1 : GROWTH
    this.#limit = Math.max(1, Math.min(fitting, this.#limit * growth, this.#max))
  }
}
