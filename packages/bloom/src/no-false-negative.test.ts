/**
 * The promise of every filter: it never denies a key that it must know. Each filter runs beside an exact model through a random
 * schedule from a seed; every step that queries it is checked. A failure names the seed and the step, to run it again.
 */
import { describe, expect, it } from 'vitest'
import { type CounterBits, type CountingBloom, createCountingBloom } from './counting/counting-bloom.js'
import type { Key } from './hashing/key-hash.js'
import { type Bloom, createBloom } from './plain/bloom.js'
import { createAgePartitionedBloom } from './windowed/age-partitioned-bloom.js'
import { createAgedCuckoo } from './windowed/aged-cuckoo.js'
import { createForgetfulBloom, type ForgetfulBloom } from './windowed/forgetful-bloom.js'
import { createRotatingBloom } from './windowed/rotating-bloom.js'
import { createWindowedFilter, type WindowedFilter } from './windowed/windowed-filter.js'
import { bloomFromJson, bloomToJson, decodeBloom, encodeBloom } from './wire/bloom-wire.js'
import {
  countingBloomFromJson,
  countingBloomToJson,
  decodeCountingBloom,
  encodeCountingBloom,
} from './wire/counting-bloom-wire.js'

const SEEDS = [1, 2, 3, 4]
const STEPS_PER_SEED = 50_000

// Eight kinds of run, four seeds, 50,000 steps each: 1.6 million steps.
describe.each(SEEDS)('over a random schedule from seed %i, no key is ever denied by', seed => {
  it('a plain filter that is folded, united, intersected, cloned, sent and cleared', () => {
    run(seed, new PlainWorld(new Random(seed)))
  })

  it('a counting filter that saturates, with removals, sent and cleared', () => {
    run(seed, new CountingWorld(new Random(seed)))
  })

  it.each(Object.entries(windowedFilters(seed)))('%s, in its window', (_, filter) => {
    run(seed, new WindowedWorld(new Random(seed), filter))
  })
})

it('a planted bug is found: a filter that forgets a little early', () => {
  const filter = createWindowedFilter({ windowMs: 900, entriesMax: 500, falsePositiveRateMax: 0.01 })
  expect(() => run(1, new WindowedWorld(new Random(1), filter, 1000))).toThrow('was denied')
})

function windowedFilters(seed: number): Record<string, WindowedFilter> {
  const options = { windowMs: 1000, entriesMax: 500, falsePositiveRateMax: 0.01, seed: BigInt(seed) }
  const forgetful = { bits: 3000, hashes: 4, refreshMs: 250, pastFilters: 3, seed: BigInt(seed) }
  return {
    'a rotating filter': createRotatingBloom({ ...options, slicesMax: 10_000 }),
    'an age-partitioned filter': createAgePartitionedBloom(options),
    'an aged cuckoo filter': createAgedCuckoo({ ...options, entriesMax: 4000 }),
    'a forgetful filter': createForgetfulBloom(forgetful),
    'a forgetful filter with shared hashes': createForgetfulBloom({ ...forgetful, sharedHashes: true }),
    'a forgetful filter that adapts': createForgetfulBloom({
      ...forgetful,
      adaptation: { falsePositiveRateMax: 0.01, windowMs: 950, everyMs: 100, stepMs: 20 },
    }),
  }
}

interface World {
  step(): void
}

function run(seed: number, world: World): void {
  for (let step = 0; step < STEPS_PER_SEED; step++) {
    try {
      world.step()
    } catch (cause) {
      throw new Error(`seed ${seed}, step ${step}: ${(cause as Error).message}`, { cause })
    }
  }
}

class PlainWorld implements World {
  readonly #random: Random
  #filter: Bloom
  #keys: Key[] = []

  constructor(random: Random) {
    this.#random = random
    this.#filter = this.#fresh()
  }

  step(): void {
    const dice = this.#random.below(1000)
    if (dice < 500) this.#add(this.#filter, this.#random.key())
    else if (dice < 990) requireKnown(this.#keys.length === 0 || this.#filter.has(this.#random.pick(this.#keys)))
    else if (dice < 992) this.#filter = decodeBloom(encodeBloom(this.#filter))
    else if (dice < 993) this.#filter = bloomFromJson(JSON.parse(JSON.stringify(bloomToJson(this.#filter))))
    else if (dice < 994) this.#filter = this.#filter.clone()
    else if (dice < 996) this.#unite()
    else if (dice < 998) this.#intersect()
    else if (dice < 999) this.#fold()
    else this.#startOver()
  }

  #add(filter: Bloom, key: Key): void {
    filter.add(key)
    this.#keys.push(key)
  }

  #unite(): void {
    const other = createBloom(this.#filter)
    for (let i = 0; i < 20; i++) this.#add(other, this.#random.key())
    this.#filter = this.#filter.union(other)
  }

  #intersect(): void {
    const other = createBloom(this.#filter)
    const common = this.#keys.filter(() => this.#random.below(3) > 0)
    other.addAll(common)
    this.#filter = this.#filter.intersect(other)
    this.#keys = common
  }

  #fold(): void {
    if (this.#filter.bits % 2 === 0 && this.#filter.bits > 256) this.#filter = this.#filter.fold()
    for (const key of this.#keys) requireKnown(this.#filter.has(key))
  }

  #startOver(): void {
    if (this.#random.below(2) === 0) this.#filter.clear()
    else this.#filter = this.#fresh()
    this.#keys = []
  }

  #fresh(): Bloom {
    const bits = this.#random.below(2) === 0 ? 2 ** (8 + this.#random.below(8)) : 100 + this.#random.below(20_000)
    return createBloom({ bits, hashes: 1 + this.#random.below(10), seed: BigInt(this.#random.below(2 ** 32)) })
  }
}

class CountingWorld implements World {
  readonly #random: Random
  #filter: CountingBloom
  #times = new Map<Key, number>()

  constructor(random: Random) {
    this.#random = random
    this.#filter = this.#fresh()
  }

  step(): void {
    const dice = this.#random.below(1000)
    if (dice < 400) this.#add(`key ${this.#random.below(300)}`)
    else if (dice < 700) this.#remove()
    else if (dice < 995) this.#check(this.#anyKey())
    else if (dice < 996) this.#filter = decodeCountingBloom(encodeCountingBloom(this.#filter))
    else if (dice < 997)
      this.#filter = countingBloomFromJson(JSON.parse(JSON.stringify(countingBloomToJson(this.#filter))))
    else if (dice < 998) this.#filter = this.#filter.clone()
    else this.#startOver()
  }

  #anyKey(): Key | undefined {
    return this.#times.size === 0 ? undefined : this.#random.pick([...this.#times.keys()])
  }

  #add(key: Key): void {
    this.#filter.add(key)
    this.#times.set(key, (this.#times.get(key) ?? 0) + 1)
  }

  #remove(): void {
    const key = this.#anyKey()
    if (key === undefined) return
    requireKnown(this.#filter.remove(key))
    const times = this.#times.get(key)! - 1
    if (times === 0) this.#times.delete(key)
    else this.#times.set(key, times)
  }

  #check(key: Key | undefined): void {
    if (key === undefined) return
    requireKnown(this.#filter.has(key) && this.#filter.bloom.has(key))
    const highest = 2 ** this.#filter.counterBits - 1
    expect(this.#filter.multiplicity(key)).toBeGreaterThanOrEqual(Math.min(highest, this.#times.get(key)!))
  }

  #startOver(): void {
    if (this.#random.below(2) === 0) this.#filter.clear()
    else this.#filter = this.#fresh()
    this.#times.clear()
  }

  #fresh(): CountingBloom {
    const counterBits = this.#random.pick<CounterBits>([2, 4, 8, 16])
    return createCountingBloom({ bits: 100 + this.#random.below(3000), hashes: 1 + this.#random.below(6), counterBits })
  }
}

class WindowedWorld implements World {
  readonly #random: Random
  readonly #filter: WindowedFilter
  readonly #windowMs: number
  readonly #addedMs = new Map<Key, number>()
  #nowMs = 5_000
  #perMs = 0.5

  constructor(random: Random, filter: WindowedFilter, windowMs?: number) {
    this.#random = random
    this.#filter = filter
    this.#windowMs = windowMs ?? filter.windowMs
  }

  step(): void {
    const dice = this.#random.below(1000)
    if (dice < 500) this.#add()
    else if (dice < 980) this.#check()
    else if (dice < 985) this.#perMs = this.#random.pick([0.05, 0.2, 0.5, 1, 2])
    else if (dice < 990) this.#nowMs += this.#random.below(this.#windowMs * 3)
    else if (dice < 995) requireKnown(this.#allKnown())
    // A clock that jumps back must not make the filter forget, nor remember for less long.
    else this.#filter.has('whatever', this.#nowMs - this.#random.below(5000))
  }

  #add(): void {
    this.#nowMs += this.#random.exponential(1 / this.#perMs)
    const key = this.#random.key()
    if (this.#random.below(3) === 0 && isForgetful(this.#filter)) {
      // A key that was not inserted seems to be there. Only a key that really is there may count on being remembered.
      if (!this.#filter.insert(key, this.#nowMs)) return
    } else {
      this.#filter.add(key, this.#nowMs)
    }
    this.#addedMs.set(key, this.#nowMs)
  }

  #check(): void {
    const key = this.#newest(1 + this.#random.below(400))
    if (key !== undefined) requireKnown(this.#isYoung(key) === false || this.#filter.has(key, this.#nowMs))
  }

  #allKnown(): boolean {
    for (const key of this.#addedMs.keys()) {
      if (!this.#isYoung(key)) this.#addedMs.delete(key)
      else if (!this.#filter.has(key, this.#nowMs)) return false
    }
    return true
  }

  #newest(back: number): Key | undefined {
    const keys = [...this.#addedMs.keys()]
    return keys[Math.max(0, keys.length - back)]
  }

  #isYoung(key: Key): boolean {
    return this.#nowMs - this.#addedMs.get(key)! < this.#windowMs
  }
}

function isForgetful(filter: WindowedFilter): filter is ForgetfulBloom {
  return 'insert' in filter
}

function requireKnown(isKnown: boolean): void {
  if (!isKnown) throw new Error('a key that the filter must know was denied')
}

/** mulberry32: small, and good enough to shuffle a schedule. */
class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  below(limit: number): number {
    return Math.floor(this.#next() * limit)
  }

  exponential(mean: number): number {
    return -mean * Math.log(1 - this.#next())
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!
  }

  key(): Key {
    const n = this.below(2 ** 32)
    const kind = this.below(4)
    if (kind === 0) return `/db/shop/products/${n}`
    if (kind === 1) return `größe ${n} 漢字`
    return kind === 2 ? `${n}` : Uint8Array.of(n, n >>> 8, n >>> 16, n >>> 24, 7)
  }

  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
