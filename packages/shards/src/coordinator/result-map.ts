/** Recent results, within a limit of memory. The least recently used is forgotten first. */
import type { Cell } from '../plan/index.js'

interface Kept<Value> {
  readonly value: Value
  readonly sizeBytes: number
}

/** About how much an entry, a row and a cell take in addition to their text. */
const OVERHEAD_BYTES = 64

export class ResultMap<Value> {
  readonly #sizeBytesMax: number
  readonly #rowsOf: (value: Value) => readonly (readonly Cell[])[]
  readonly #kept = new Map<string, Kept<Value>>()
  #sizeBytes = 0

  constructor(sizeBytesMax: number, rowsOf: (value: Value) => readonly (readonly Cell[])[]) {
    this.#sizeBytesMax = sizeBytesMax
    this.#rowsOf = rowsOf
  }

  get(key: string): Value | undefined {
    const found = this.#kept.get(key)
    if (found === undefined) return undefined
    this.#kept.delete(key)
    this.#kept.set(key, found)
    return found.value
  }

  /** A value that is larger than the limit is not kept. */
  set(key: string, value: Value): void {
    this.#delete(key)
    const sizeBytes = key.length + sizeOf(this.#rowsOf(value))
    if (sizeBytes > this.#sizeBytesMax) return
    this.#kept.set(key, { value, sizeBytes })
    this.#sizeBytes += sizeBytes
    for (const oldest of this.#kept.keys()) {
      if (this.#sizeBytes <= this.#sizeBytesMax) return
      this.#delete(oldest)
    }
  }

  /** Most recently used first. */
  values(): readonly Value[] {
    return [...this.#kept.values()].map(({ value }) => value).reverse()
  }

  #delete(key: string): void {
    const found = this.#kept.get(key)
    if (found === undefined) return
    this.#kept.delete(key)
    this.#sizeBytes -= found.sizeBytes
  }
}

function sizeOf(rows: readonly (readonly Cell[])[]): number {
  let sizeBytes = OVERHEAD_BYTES
  for (const row of rows) {
    sizeBytes += OVERHEAD_BYTES
    for (const cell of row) sizeBytes += typeof cell === 'string' ? OVERHEAD_BYTES + 2 * cell.length : OVERHEAD_BYTES
  }
  return sizeBytes
}
