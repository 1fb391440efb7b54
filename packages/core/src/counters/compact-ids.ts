/**
 * Ids as the paper remembers them: in a forgetful filter alone, which adapts to the load. It knows that an id came, within the
 * window; and with a small probability, which is told, it takes a new one for one that came. What is kept of an id is its
 * hash, so that the filter can be filled again without the ids.
 */
import { createForgetfulBloom, hashUnder, type WindowedFilter } from '@freshet/bloom'

export interface CompactOptions {
  /** To stay below; 0.001 unless given. */
  readonly falsePositiveRateMax?: number
  /** What the filter may take, 64 MiB unless given. If the rate cannot be kept within it, it is full. */
  readonly memoryBytesMax?: number
  /** Another filter than the adaptive one, with the window that it is to have. */
  readonly createFilter?: (windowMs: number) => WindowedFilter
}

const RATE_MAX_DEFAULT = 0.001
const MEMORY_BYTES_MAX_DEFAULT = 64 * 1024 * 1024
/** Of each of the filter's parts. */
const BITS = 2 ** 20
const HASHES = 10
/** From its longest time between refreshes to none. */
const STEPS = 20
/** Hashes are kept: it must not change. */
const SEED = 0n

export const ID_HASH_BYTES = 8

export class CompactIds {
  readonly #filter: WindowedFilter
  readonly #rateMax: number
  readonly #hash = hashUnder(SEED)

  constructor(options: CompactOptions, windowMs: number) {
    const { falsePositiveRateMax = RATE_MAX_DEFAULT, memoryBytesMax = MEMORY_BYTES_MAX_DEFAULT } = options
    this.#rateMax = falsePositiveRateMax
    this.#filter = options.createFilter?.(windowMs) ?? adaptiveFilter(windowMs, falsePositiveRateMax, memoryBytesMax)
  }

  hashOf(id: string): Uint8Array {
    const { low, high } = this.#hash(id)
    return new Uint8Array(Int32Array.of(low, high).buffer)
  }

  has(hash: Uint8Array, nowMs: number): boolean {
    return this.#filter.has(hash, nowMs)
  }

  add(hash: Uint8Array, nowMs: number): void {
    this.#filter.add(hash, nowMs)
  }

  /** It errs too often to take more. */
  isFull(): boolean {
    return this.#filter.estimatedRate() > 2 * this.#rateMax
  }

  estimatedRate(): number {
    return this.#filter.estimatedRate()
  }

  sizeBytes(): number {
    return this.#filter.sizeBytes()
  }
}

function adaptiveFilter(windowMs: number, falsePositiveRateMax: number, memoryBytesMax: number): WindowedFilter {
  const filtersMax = Math.max(3, Math.floor((8 * memoryBytesMax) / BITS))
  // Two of them reach back a little further than the window.
  const refreshMs = Math.ceil(0.51 * windowMs) + 1
  const adaptation = { falsePositiveRateMax, windowMs, filtersMax, stepMs: refreshMs / STEPS }
  return createForgetfulBloom({ bits: BITS, hashes: HASHES, pastFilters: 1, refreshMs, adaptation })
}
