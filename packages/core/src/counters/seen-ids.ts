/**
 * Which ids are surely new: a windowed filter, and a larger one beside it when it is full. One that is full takes no more
 * ids, and goes when the last of them is too old to matter; so nothing is forgotten early, and memory follows the load.
 */
import { createWindowedFilter, FilterError, type WindowedFilter } from '@freshet/bloom'

export interface SeenIdsOptions {
  readonly windowMs: number
  readonly seed: bigint
}

interface Generation {
  readonly filter: WindowedFilter
  readonly entriesMax: number
  /** When it was full. */
  fullAtMs: number
}

const ENTRIES_FIRST = 10_000
const FALSE_POSITIVE_RATE_MAX = 0.01

export class SeenIds {
  readonly #options: SeenIdsOptions
  #generations: Generation[] = []

  constructor(options: SeenIdsOptions) {
    this.#options = options
  }

  /** False: it was not added within the window. */
  has(id: string, nowMs: number): boolean {
    return this.#generations.some(({ filter }) => filter.has(id, nowMs))
  }

  add(id: string, nowMs: number): void {
    const { windowMs } = this.#options
    if (this.#generations.length > 1) {
      this.#generations = this.#generations.filter(({ fullAtMs }) => nowMs - fullAtMs <= windowMs)
    }
    const last = this.#generations.at(-1)
    if (last === undefined || !hasRoom(last, id, nowMs)) this.#grow(last).add(id, nowMs)
  }

  /** Of a new id to be taken for one that may have been seen. */
  estimatedRate(): number {
    return 1 - this.#generations.reduce((none, { filter }) => none * (1 - filter.estimatedRate()), 1)
  }

  sizeBytes(): number {
    return this.#generations.reduce((sum, { filter }) => sum + filter.sizeBytes(), 0)
  }

  #grow(last: Generation | undefined): WindowedFilter {
    const entriesMax = last === undefined ? ENTRIES_FIRST : 2 * last.entriesMax
    const filter = createWindowedFilter({
      ...this.#options,
      entriesMax,
      falsePositiveRateMax: FALSE_POSITIVE_RATE_MAX,
    })
    this.#generations.push({ filter, entriesMax, fullAtMs: Number.POSITIVE_INFINITY })
    return filter
  }
}

function hasRoom(generation: Generation, id: string, nowMs: number): boolean {
  try {
    generation.filter.add(id, nowMs)
    return true
  } catch (error) {
    if (!(error instanceof FilterError) || error.code !== 'FILTER_FULL') throw error
    generation.fullAtMs = nowMs
    return false
  }
}
