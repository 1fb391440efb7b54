/**
 * Copies in this process; the least recently used is dropped first when they take too many bytes. It knows nothing of
 * coherence: code that takes out a copy asks the session whether it is still current.
 *
 * Bodies are kept unparsed. Each read of an object parses its body again, so that callers may change what they get; that takes
 * a third (small ones) to two thirds (large ones) of the time of `structuredClone`, and less memory.
 */
import type { Dependencies } from '@freshet/core/coherence'
import type { Path, Position, Version } from '@freshet/protocol'
import type { Body } from '../http/transport.js'

export interface Copy {
  /** Undefined for an absent object; absence is kept like any other answer. */
  readonly version: Version | undefined
  /** The state it was read from includes at least this position. */
  readonly position: Position
  readonly body: Body
  readonly contentType: string
  readonly dependsOn: Dependencies
  readonly freshUntilMs: number
}

/** The memory of an entry besides its body and name: measured at 250 to 300 bytes, of which a Map's slot is the smallest part. */
const OVERHEAD_BYTES = 300

export class MemoryCache {
  readonly #bytesMax: number
  /** In the order of use: a Map keeps insertion order, and using a copy inserts it again. */
  readonly #copies = new Map<string, Copy>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  get size(): number {
    return this.#copies.size
  }

  /** Looks up a position without counting as a use. */
  positionOf(name: string): Position | undefined {
    return this.#copies.get(name)?.position
  }

  get(name: string): Copy | undefined {
    const copy = this.#copies.get(name)
    if (copy === undefined) return undefined
    this.#copies.delete(name)
    this.#copies.set(name, copy)
    return copy
  }

  /** Keeps the copy, unless the existing one is of a later state, or the copy is larger than the whole cache may be. */
  set(name: string, copy: Copy): void {
    const known = this.#copies.get(name)
    if (known && known.position > copy.position) return
    this.delete(name)
    if (sizeBytes(name, copy) > this.#bytesMax) return
    this.#copies.set(name, copy)
    this.#bytes += sizeBytes(name, copy)
    for (const [oldest] of this.#copies) {
      if (this.#bytes <= this.#bytesMax) break
      this.delete(oldest)
    }
  }

  delete(name: string | Path): void {
    const copy = this.#copies.get(name)
    if (copy === undefined) return
    this.#copies.delete(name)
    this.#bytes -= sizeBytes(name, copy)
  }

  clear(): void {
    this.#copies.clear()
    this.#bytes = 0
  }
}

/** Strings take at most two bytes per character. */
function sizeBytes(name: string, { body }: Copy): number {
  return OVERHEAD_BYTES + 2 * name.length + (typeof body === 'string' ? 2 * body.length : body.byteLength)
}
