/** Results that were found lately, with the versions they hold for. The least recently asked for are forgotten first. */
import type { SqlResult } from './query-coordinator.js'

export interface KeptResult {
  readonly result: SqlResult
  /** What it depends on. */
  readonly tables: readonly string[]
  /** All that was written to these up to here is in it. */
  through: number
}

interface Kept {
  readonly kept: KeptResult
  readonly sizeBytes: number
}

/** What an entry, a row and a cell take besides their text, about. */
const OVERHEAD_BYTES = 64

export class ResultMap {
  readonly #sizeBytesMax: number
  readonly #kept = new Map<string, Kept>()
  #sizeBytes = 0

  constructor(sizeBytesMax: number) {
    this.#sizeBytesMax = sizeBytesMax
  }

  get(key: string): KeptResult | undefined {
    const found = this.#kept.get(key)
    if (found === undefined) return undefined
    this.#kept.delete(key)
    this.#kept.set(key, found)
    return found.kept
  }

  /** What is larger than all that may be kept is not. */
  set(key: string, kept: KeptResult): void {
    this.#delete(key)
    const sizeBytes = key.length + sizeOf(kept.result)
    if (sizeBytes > this.#sizeBytesMax) return
    this.#kept.set(key, { kept, sizeBytes })
    this.#sizeBytes += sizeBytes
    for (const oldest of this.#kept.keys()) {
      if (this.#sizeBytes <= this.#sizeBytesMax) return
      this.#delete(oldest)
    }
  }

  #delete(key: string): void {
    const found = this.#kept.get(key)
    if (found === undefined) return
    this.#kept.delete(key)
    this.#sizeBytes -= found.sizeBytes
  }
}

function sizeOf({ rows }: SqlResult): number {
  let sizeBytes = OVERHEAD_BYTES
  for (const row of rows) {
    sizeBytes += OVERHEAD_BYTES
    for (const cell of row) sizeBytes += typeof cell === 'string' ? OVERHEAD_BYTES + 2 * cell.length : OVERHEAD_BYTES
  }
  return sizeBytes
}
