/**
 * A Bloom filter in Redis, shared by all clients that open it under its name (thesis of Gessert and Bücklers, 3.7). Its bits
 * have the places of those of `@freshet/bloom`, so it can be handed out as such a filter: `snapshot`.
 *
 * An operation is one round trip, and atomic: Redis reads the bits of a key and sets them in one step. So if several clients
 * add the same key at once, at most one learns that it is new. The keys of one turn of the event loop share a round trip; so do
 * those of a list. (Measured: a Lua script takes Redis five times as long as BITFIELD.)
 *
 * What Redis forgets, the filter forgets: if Redis was emptied or lost its last writes, the filter says no to keys that were
 * added.
 */
import {
  type Bloom,
  type BloomOptions,
  FilterError,
  type FilterSize,
  type Key,
  type Seed,
  sizeFor,
} from '@freshet/bloom'
import { SharedTurn } from '@freshet/store/reads'
import { Script } from '../redis/client.js'
import { type BitString, bloomOf, isManyFor, workOf } from './bit-work.js'
import { FilterLine } from './filter-line.js'

/**
 * Sizes as `createBloom` takes them. The seed is for a new filter, and drawn at random unless given; a filter that exists keeps
 * its own seed.
 */
export type RedisFilterOptions = BloomOptions & {
  /** `redis://user:password@host:6379/0`. */
  readonly url: string
  readonly name: string
}

/** KEYS: shape, bits. ARGV: bits, hashes, seed. The first client decides; the string of bits has its full length from then on. */
const openScript = new Script(`#!lua
local found = redis.call('HMGET', KEYS[1], 'bits', 'hashes', 'seed')
if found[1] then return found end
redis.call('HSET', KEYS[1], 'bits', ARGV[1], 'hashes', ARGV[2], 'seed', ARGV[3])
redis.call('SETBIT', KEYS[2], ARGV[1] - 1, 0)
return ARGV
`)

/** Redis does nothing else while it runs one command. */
const NAMED_KEYS_MAX = 512

/** Throws FILTER_OPTIONS_INVALID, FILTER_MISMATCH if a filter of this name has another size, and STORE_UNAVAILABLE. */
export async function openRedisFilter({ url, name, ...options }: RedisFilterOptions): Promise<RedisFilter> {
  const { bits, hashes } = 'bits' in options ? options : sizeFor(options.entriesMax, options.falsePositiveRateMax)
  const seed = options.seed ?? randomSeed()
  const keys = { shape: `{freshet-filter:${name}}:shape`, bits: `{freshet-filter:${name}}:bits` }
  const line = await FilterLine.open(url)
  try {
    const found = await line.run(openScript, [keys.shape, keys.bits], [`${bits}`, `${hashes}`, `${seed}`])
    const shape = (found as readonly Buffer[]).map(String)
    checkShape(name, { bits, hashes }, { bits: Number(shape[0]), hashes: Number(shape[1]) })
    return new RedisFilter(line, { name: keys.bits, bits, hashes, seed: BigInt(shape[2]!) })
  } catch (error) {
    await line.close()
    throw error
  }
}

export class RedisFilter {
  readonly bits: number
  readonly hashes: number
  readonly seed: Seed
  readonly #line: FilterLine
  readonly #bits: BitString
  readonly #adding: SharedTurn<Key, boolean>
  readonly #asking: SharedTurn<Key, boolean>

  /** Use `openRedisFilter`. */
  constructor(line: FilterLine, bits: BitString) {
    this.bits = bits.bits
    this.hashes = bits.hashes
    this.seed = bits.seed
    this.#line = line
    this.#bits = bits
    this.#adding = new SharedTurn(keys => this.addAll(keys))
    this.#asking = new SharedTurn(keys => this.hasAll(keys))
  }

  /** Whether the key is new. True is certain; false may be a false positive. */
  add(key: Key): Promise<boolean> {
    return this.#adding.ask(key)
  }

  /** For each key, whether it is new. */
  async addAll(keys: readonly Key[]): Promise<readonly boolean[]> {
    return (await this.#work(keys, true)).map(wasThere => !wasThere)
  }

  has(key: Key): Promise<boolean> {
    return this.#asking.ask(key)
  }

  hasAll(keys: readonly Key[]): Promise<readonly boolean[]> {
    return this.#work(keys, false)
  }

  /** The filter as it is now, to be queried here or handed out. Its count is an estimate. */
  async snapshot(): Promise<Bloom> {
    const [found] = await this.#line.send([['GET', this.#bits.name]])
    const bloom = bloomOf(this.#bits, found!)
    bloom.count = Math.round(bloom.estimatedCount())
    return bloom
  }

  /** Empties the filter, for all clients that share it. */
  async clear(): Promise<void> {
    await this.#line.send([['DEL', this.#bits.name]])
  }

  /** Pending calls are answered first. */
  close(): Promise<void> {
    return this.#line.close()
  }

  #work(keys: readonly Key[], isAdding: boolean): Promise<readonly boolean[]> {
    return inParts(keys, this.#bits, async part => {
      const { commands, read } = workOf(this.#bits, part, isAdding)
      return read(await this.#line.send(commands))
    })
  }
}

export function randomSeed(): Seed {
  return crypto.getRandomValues(new BigUint64Array(1))[0]!
}

export function checkShape(name: string, asked: FilterSize, found: FilterSize): void {
  if (found.bits === asked.bits && found.hashes === asked.hashes) return
  throw new FilterError(
    'FILTER_MISMATCH',
    `The filter ${name} has ${found.bits} bits and ${found.hashes} hashes, not ${asked.bits} and ${asked.hashes}. ` +
      'Open it for the same number of entries and the same rate, or choose another name.',
  )
}

/** Splits a list of keys into parts, so that other clients do not wait long. */
export async function inParts(
  keys: readonly Key[],
  size: FilterSize,
  work: (keys: readonly Key[]) => Promise<readonly boolean[]>,
): Promise<readonly boolean[]> {
  if (keys.length === 0) return []
  if (keys.length <= NAMED_KEYS_MAX || isManyFor(size, keys.length)) return work(keys)
  const parts = Array.from({ length: Math.ceil(keys.length / NAMED_KEYS_MAX) }, (_, i) =>
    work(keys.slice(i * NAMED_KEYS_MAX, (i + 1) * NAMED_KEYS_MAX)),
  )
  return (await Promise.all(parts)).flat()
}
