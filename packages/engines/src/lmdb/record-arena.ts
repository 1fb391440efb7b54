/**
 * Memory for the records of one batch, reused for the next. LMDB holds on to a buffer long after it is done with it; if each
 * record had its own, garbage collection would cost more than the rest of a commit.
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

  /** Call only when none of the allocated records is in use. */
  clear(): void {
    this.#used = 0
  }
}
