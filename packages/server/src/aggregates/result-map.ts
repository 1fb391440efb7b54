/** Results that were found lately, with the versions they hold for. The least recently asked for are forgotten first. */
import type { SqlResult } from './query-coordinator.js'

interface Kept {
  readonly result: SqlResult
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

  get(key: string): SqlResult | undefined {
    const kept = this.#kept.get(key)
    if (kept === undefined) return undefined
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    return kept.result
  }

  /** What is larger than all that may be kept is not. */
  set(key: string, result: SqlResult): void {
    this.#delete(key)
    const sizeBytes = key.length + sizeOf(result)
    if (sizeBytes > this.#sizeBytesMax) return
    this.#kept.set(key, { result, sizeBytes })
    this.#sizeBytes += sizeBytes
    for (const oldest of this.#kept.keys()) {
      if (this.#sizeBytes <= this.#sizeBytesMax) return
      this.#delete(oldest)
    }
  }

  #delete(key: string): void {
    const kept = this.#kept.get(key)
    if (kept === undefined) return
    this.#kept.delete(key)
    this.#sizeBytes -= kept.sizeBytes
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
