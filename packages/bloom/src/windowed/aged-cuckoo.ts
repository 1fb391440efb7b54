/**
 * The aged cuckoo filter: a cuckoo filter (Fan, Andersen, Kaminsky, Mitzenmacher: Cuckoo Filter, 2014) whose entries know
 * the generation they were added in.
 *
 *     entry:   [ fingerprint, f bits ][ generation modulo 2^a, a bits ]      fingerprint 0: empty
 *     bucket:  four entries; the table is one run of bits, nothing is padded
 *     window:  2^a - 2 generations; one more is being filled, one more is being swept out
 *
 * A key has two buckets, first and second, and lies in either as its fingerprint; second = H(fingerprint) - first modulo
 * the number of buckets, which turns each into the other and works for any number of buckets (the paper's xor needs a
 * power of two, and so up to twice the memory).
 *
 * Invariants:
 * - A generation dies, all at once, when its newest key has left the window; entries of a dead generation count as free.
 * - Its number is used again only after a whole sweep of the table since it died: no entry comes back to life.
 * - `add` looks for a free place (breadth first, so the path is short and never crosses itself) before it moves anything;
 *   if there is no free place it throws FILTER_FULL and the table is unchanged.
 *
 * Adding a key again only renews its generation. Two keys that share fingerprint and buckets share one entry, whose
 * generation is that of the later one: the earlier key is remembered for longer, never shorter.
 */
import { FilterError } from '../filter-error.js'
import { indexScale } from '../hashing/bit-array.js'
import { hashKey, type Key, keyHash } from '../hashing/key-hash.js'
import { checkSeed, type Seed, seedHigh, seedLow } from '../hashing/seed.js'
import { invalid } from '../plain/sizing.js'
import { agedCuckooShape, SLOTS_PER_BUCKET } from './aged-cuckoo-shape.js'
import { PackedEntries } from './packed-entries.js'
import type { WindowedFilter } from './windowed-filter.js'

export interface AgedCuckooOptions {
  /** How long a key is remembered, at least. */
  readonly windowMs: number
  /** Keys expected within one window, evenly: there is room for a few percent more, then `add` refuses. */
  readonly entriesMax: number
  readonly falsePositiveRateMax: number
  readonly seed?: Seed
}

export function createAgedCuckoo(options: AgedCuckooOptions): AgedCuckoo {
  return new AgedCuckoo(options)
}

// The share of places at which `add` refuses: a little above the expected one. There are still free places beyond it, but
// finding one, or finding that none exists, takes a search of hundreds of buckets.
const LOAD_MAX = 0.965
// Two, 8, 32, 128, 512 buckets within 0, 1, 2, 3, 4 moves.
const SEARCH_BUCKETS_MAX = 682
const NOWHERE = -1

// The search's queue, used by one `add` at a time: a bucket, the entry that would move into it, and where it was found.
const searchBucket = new Int32Array(SEARCH_BUCKETS_MAX)
const searchSlot = new Int32Array(SEARCH_BUCKETS_MAX)
const searchParent = new Int32Array(SEARCH_BUCKETS_MAX)

export class AgedCuckoo implements WindowedFilter {
  readonly windowMs: number
  readonly #ageBits: number
  /** How many different fingerprints there are. */
  readonly #fingerprints: number
  readonly #fingerprintScale: number
  readonly #bucketScale: number
  readonly #buckets: number
  readonly #entries: PackedEntries
  readonly #generationMs: number
  readonly #sweepSlots: number
  readonly #seedLow: number
  readonly #seedHigh: number
  /** By generation number, modulo 2^a: whether it is alive, when its last key came in, and how many entries it has. */
  readonly #isAlive: Uint8Array
  readonly #newestMs: Float64Array
  readonly #counts: Int32Array
  /** Entries of all generations that are alive. */
  #count = 0
  /** The generations that are alive: from oldest to current; if oldest is greater, there are no living generations. */
  #oldest = 0
  #current = -1
  #currentSinceMs = Number.NEGATIVE_INFINITY
  #nowMs = Number.NEGATIVE_INFINITY
  /** Slots below it have no entries of generations that were dead when the current one began. */
  #swept: number

  constructor(options: AgedCuckooOptions) {
    const { windowMs, entriesMax } = options
    if (!(Number.isFinite(windowMs) && windowMs > 0)) throw invalid(`windowMs must be a time above 0, not ${windowMs}.`)
    const shape = agedCuckooShape(entriesMax, options.falsePositiveRateMax)
    const seed = checkSeed(options.seed ?? 0n)
    const generations = 2 ** shape.ageBits - 2
    this.windowMs = windowMs
    this.#fingerprints = 2 ** shape.fingerprintBits - 1
    this.#fingerprintScale = indexScale(this.#fingerprints)
    this.#bucketScale = indexScale(shape.buckets)
    this.#ageBits = shape.ageBits
    this.#buckets = shape.buckets
    this.#entries = new PackedEntries(shape.buckets * SLOTS_PER_BUCKET, shape.fingerprintBits + shape.ageBits)
    this.#generationMs = windowMs / generations
    this.#sweepSlots = Math.ceil((this.#entries.length * generations) / entriesMax)
    this.#swept = this.#entries.length
    this.#isAlive = new Uint8Array(2 ** shape.ageBits)
    this.#newestMs = new Float64Array(2 ** shape.ageBits)
    this.#counts = new Int32Array(2 ** shape.ageBits)
    this.#seedLow = seedLow(seed)
    this.#seedHigh = seedHigh(seed)
  }

  add(key: Key, nowMs: number): void {
    this.#advance(nowMs)
    this.#openGenerationIfDue()
    hashKey(key, this.#seedLow, this.#seedHigh)
    const fingerprint = this.#fingerprint(keyHash[1]!)
    const first = ((keyHash[0]! >>> 0) * this.#bucketScale) >>> 0
    const second = this.#otherBucket(first, fingerprint)
    const known = this.#find(fingerprint, first, second)
    if (known !== NOWHERE) this.#forget(known)
    const slot = known !== NOWHERE ? known : this.#place(first, second)
    if (slot === NOWHERE) throw this.#full()
    this.#put(slot, fingerprint)
    this.#sweep(this.#sweepSlots)
  }

  has(key: Key, nowMs: number): boolean {
    this.#advance(nowMs)
    hashKey(key, this.#seedLow, this.#seedHigh)
    const fingerprint = this.#fingerprint(keyHash[1]!)
    const first = ((keyHash[0]! >>> 0) * this.#bucketScale) >>> 0
    return this.#find(fingerprint, first, this.#otherBucket(first, fingerprint)) !== NOWHERE
  }

  /** Two buckets are compared; a living entry in them matches by chance once in 2^f - 1. */
  estimatedRate(): number {
    const compared = (2 * SLOTS_PER_BUCKET * this.#count) / this.#entries.length
    return 1 - (1 - 1 / this.#fingerprints) ** compared
  }

  sizeBytes(): number {
    return this.#entries.sizeBytes
  }

  /** Marks the generations dead whose newest key has left the window. */
  #advance(nowMs: number): void {
    if (nowMs > this.#nowMs) this.#nowMs = nowMs
    while (
      this.#oldest <= this.#current &&
      this.#nowMs - this.#newestMs[this.#number(this.#oldest)]! >= this.windowMs
    ) {
      const number = this.#number(this.#oldest++)
      this.#isAlive[number] = 0
      this.#count -= this.#counts[number]!
    }
  }

  #openGenerationIfDue(): void {
    if (this.#oldest > this.#current) {
      this.#entries.clear()
      this.#swept = this.#entries.length
    } else {
      // The number after the next one must be dead already, so that a whole sweep lies between its death and its reuse.
      const isNumberFree = this.#current + 2 - this.#oldest < this.#isAlive.length
      if (this.#nowMs - this.#currentSinceMs < this.#generationMs || !isNumberFree) return
      this.#sweep(Number.POSITIVE_INFINITY)
      this.#swept = 0
    }
    this.#current++
    this.#currentSinceMs = this.#nowMs
    const number = this.#number(this.#current)
    this.#isAlive[number] = 1
    this.#newestMs[number] = this.#nowMs
    this.#counts[number] = 0
  }

  /** Empties the dead entries of the next `slots` slots. */
  #sweep(slots: number): void {
    const end = Math.min(this.#entries.length, this.#swept + slots)
    for (let slot = this.#swept; slot < end; slot++) {
      const entry = this.#entries.read(slot)
      if (entry !== 0 && this.#isFree(entry)) this.#entries.write(slot, 0)
    }
    this.#swept = end
  }

  #find(fingerprint: number, first: number, second: number): number {
    const slot = this.#slotOf(fingerprint, first)
    return slot !== NOWHERE ? slot : this.#slotOf(fingerprint, second)
  }

  /** A slot that is free, or is made free. */
  #place(first: number, second: number): number {
    if (this.#count >= LOAD_MAX * this.#entries.length) return NOWHERE
    const slot = this.#freeSlot(first)
    if (slot !== NOWHERE) return slot
    const other = this.#freeSlot(second)
    return other !== NOWHERE ? other : this.#makeRoom(first, second)
  }

  #put(slot: number, fingerprint: number): void {
    const number = this.#number(this.#current)
    this.#entries.write(slot, (fingerprint << this.#ageBits) | number)
    this.#newestMs[number] = this.#nowMs
    this.#counts[number]!++
    this.#count++
  }

  /** An entry that is about to be written again leaves its generation. */
  #forget(slot: number): void {
    this.#counts[this.#number(this.#entries.read(slot))]!--
    this.#count--
  }

  #slotOf(fingerprint: number, bucket: number): number {
    const end = (bucket + 1) * SLOTS_PER_BUCKET
    for (let slot = bucket * SLOTS_PER_BUCKET; slot < end; slot++) {
      const entry = this.#entries.read(slot)
      if (entry >>> this.#ageBits === fingerprint && !this.#isFree(entry)) return slot
    }
    return NOWHERE
  }

  #freeSlot(bucket: number): number {
    const end = (bucket + 1) * SLOTS_PER_BUCKET
    for (let slot = bucket * SLOTS_PER_BUCKET; slot < end; slot++)
      if (this.#isFree(this.#entries.read(slot))) return slot
    return NOWHERE
  }

  /** Empties a slot in one of two full buckets, if moves along some path end at a free one; otherwise changes nothing. */
  #makeRoom(first: number, second: number): number {
    searchBucket[0] = first
    searchBucket[1] = second
    searchParent[0] = searchParent[1] = NOWHERE
    let queued = 2
    for (let node = 0; node < queued; node++) {
      const bucket = searchBucket[node]!
      for (let i = 0; i < SLOTS_PER_BUCKET; i++) {
        const slot = bucket * SLOTS_PER_BUCKET + i
        const target = this.#otherBucket(bucket, this.#entries.read(slot) >>> this.#ageBits)
        const free = this.#freeSlot(target)
        if (free !== NOWHERE) return this.#moveAlong(node, slot, free)
        if (queued === SEARCH_BUCKETS_MAX) continue
        searchBucket[queued] = target
        searchSlot[queued] = slot
        searchParent[queued++] = node
      }
    }
    return NOWHERE
  }

  /** Moves `slot`'s entry to `free`, the one before it on the path to `slot`, and so on. Returns the slot that is now free. */
  #moveAlong(node: number, slot: number, free: number): number {
    this.#entries.write(free, this.#entries.read(slot))
    let emptied = slot
    for (let at = node; searchParent[at] !== NOWHERE; at = searchParent[at]!) {
      this.#entries.write(emptied, this.#entries.read(searchSlot[at]!))
      emptied = searchSlot[at]!
    }
    return emptied
  }

  #isFree(entry: number): boolean {
    return entry >>> this.#ageBits === 0 || this.#isAlive[this.#number(entry)] === 0
  }

  #number(generation: number): number {
    return generation & (this.#isAlive.length - 1)
  }

  /** Never 0, which marks an empty slot. */
  #fingerprint(h1: number): number {
    return (1 + (h1 >>> 0) * this.#fingerprintScale) >>> 0
  }

  #otherBucket(bucket: number, fingerprint: number): number {
    const mixed = Math.imul(fingerprint, 0x9e3779b1)
    const sum = ((Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b) >>> 0) * this.#bucketScale) >>> 0
    return sum >= bucket ? sum - bucket : sum - bucket + this.#buckets
  }

  #full(): FilterError {
    return new FilterError(
      'FILTER_FULL',
      `No place is left among ${this.#entries.length} for keys of the last ${this.windowMs} ms. ` +
        'Create the filter with a higher entriesMax, or slow the writers down.',
    )
  }
}
