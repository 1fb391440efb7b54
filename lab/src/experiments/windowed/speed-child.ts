/** One windowed filter in its own process, timed at the load that it was sized for. */
import { FilterError, type WindowedFilter } from '@freshet/bloom'
import { type ContenderWorker, hostInChild } from '../../harness/contender-worker.js'
import { productKeys, takeKeys } from '../../harness/keys.js'
import { createRandom } from '../../harness/random.js'
import { type ContenderName, contender } from './contenders.js'
import type { SpeedMeasure } from './speed.js'

interface SpeedSettings {
  readonly name: ContenderName
  readonly seed: number
  readonly entries: number
  readonly falsePositiveRateMax: number
}

/** How many windows of keys pass before the first repeats. By then the filter has forgotten it. */
const WINDOWS_OF_KEYS = 3

class SpeedWorker implements ContenderWorker<SpeedSettings, undefined, SpeedMeasure> {
  #filter!: WindowedFilter
  #keys: string[] = []
  #absent: string[] = []
  #entries = 0
  #nowMs = 0

  async prepare({ name, seed, entries, falsePositiveRateMax }: SpeedSettings): Promise<undefined> {
    const nextKey = productKeys(createRandom(seed))
    const options = { windowMs: entries, entriesMax: entries, falsePositiveRateMax, seed: BigInt(seed) }
    this.#filter = contender(name).create(options)
    this.#keys = takeKeys(nextKey, WINDOWS_OF_KEYS * entries)
    this.#absent = takeKeys(nextKey, entries)
    this.#entries = entries
    for (let window = 0; window < WINDOWS_OF_KEYS; window++) this.#add()
    return undefined
  }

  async round(): Promise<Record<SpeedMeasure, number>> {
    const add = this.#timed(() => this.#add())
    const retry = this.#timed(() => this.#hasRecent())
    const absent = this.#timed(() => this.#hasAbsent())
    return { add, 'has, new key': absent, 'has, retry': retry }
  }

  #timed(run: () => void): number {
    const startedMs = performance.now()
    run()
    return ((performance.now() - startedMs) * 1e6) / this.#entries
  }

  /** One window of keys. */
  #add(): void {
    for (let i = 0; i < this.#entries; i++) {
      this.#filter.add(this.#keys[this.#nowMs % this.#keys.length]!, this.#nowMs)
      this.#nowMs++
    }
  }

  #hasAbsent(): void {
    let positives = 0
    for (const key of this.#absent) if (this.#filter.has(key, this.#nowMs)) positives++
    if (positives > this.#entries / 10)
      throw new Error(`${positives} of ${this.#entries} absent keys seem to be present.`)
  }

  /** Retries come soon: the newest tenth of the window, ten times over. */
  #hasRecent(): void {
    const recent = Math.floor(this.#entries / 10)
    for (let i = 0; i < this.#entries; i++) {
      const key = this.#keys[(this.#nowMs - 1 - (i % recent)) % this.#keys.length]!
      if (!this.#filter.has(key, this.#nowMs)) throw new FilterError('FILTER_MISMATCH', `${key} was forgotten.`)
    }
  }
}

hostInChild(new SpeedWorker())
