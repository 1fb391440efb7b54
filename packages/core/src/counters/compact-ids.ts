/**
 * Ids as the paper remembers them: in a forgetful filter alone, which adapts to the load. It knows that an id came within the
 * window. With a small probability, which it reports, it takes a new id for one that came. It keeps the hash of each id, so
 * that the filter can be filled again without the ids.
 */
import { createForgetfulBloom, hashUnder, type WindowedFilter } from '@freshet/bloom'

export interface CompactOptions {
  /** The rate to stay below; 0.001 unless given. */
  readonly falsePositiveRateMax?: number
  /** How much memory the filter may take, 64 MiB unless given. If the rate cannot be kept within it, the filter is full. */
  readonly memoryBytesMax?: number
  /** Another filter than the adaptive one; it gets the window. */
  readonly createFilter?: (windowMs: number) => WindowedFilter
}

const RATE_MAX_DEFAULT = 0.001
const MEMORY_BYTES_MAX_DEFAULT = 64 * 1024 * 1024
/** For each of the filter's parts. */
const BITS = 2 ** 20
const HASHES = 10
/** From its longest time between refreshes to none. */
const STEPS = 20
/** Hashes are stored, so the seed must not change. */
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

  /** Whether it errs too often to take more ids. */
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
