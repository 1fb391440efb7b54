/**
 * Memory for the records of one batch, used again for the next. LMDB keeps hold of a buffer for long after it is
 * done with it; if each record had its own, the collector would have more work than all the rest of a commit.
 */
const ARENA_BYTES = 2 ** 20

export class RecordArena {
  readonly #bytes: Uint8Array = Buffer.allocUnsafeSlow(ARENA_BYTES)
  #used = 0

  readonly allocate = (bytes: number): Uint8Array => {
    if (this.#used + bytes > ARENA_BYTES) return Buffer.allocUnsafe(bytes)
    const record = new Uint8Array(this.#bytes.buffer, this.#used, bytes)
    this.#used += bytes
    return record
  }

  /** Only when nobody uses any longer what was allocated. */
  clear(): void {
    this.#used = 0
  }
}
