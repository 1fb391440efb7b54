/**
 * A Bloom filter in Redis, shared by all who open it under its name (thesis of Gessert and Bücklers, 3.7). Its bits lie where those of
 * `@freshet/bloom` do, so that it can be handed out as one: `snapshot`.
 *
 * An operation is one round trip, and atomic: BITFIELD looks at the bits of a key and sets them in one step. So of many who add the same
 * key at once at most one is told that it is new. Those asked for in one turn of the event loop share a command; so do those of a list.
 * (Measured: a Lua script takes Redis five times as long as BITFIELD.)
 *
 * Redis counts the bits of a byte from its highest, a filter from the lowest: place i is bit `i ^ 7` there. What Redis forgets, the filter
 * forgets: it says no to what it was told, if Redis was emptied or lost its last moments.
 */
import { Bloom, FilterError, type Key, keyIndexes, type Seed, sizeFor } from '@freshet/bloom'
import { type Client, connectTo, type Reply, Script, whereOf } from '../redis/client.js'
import { refusalOf, unavailable, wordOf } from '../redis/redis-errors.js'
import { BitCommands } from './bit-commands.js'

export interface RedisFilterOptions {
  /** `redis://user:password@host:6379/0`. */
  readonly url: string
  readonly name: string
  readonly entriesMax: number
  readonly falsePositiveRateMax: number
  /** Of a new filter; drawn at random unless given. Whoever opens one that is there takes over its seed. */
  readonly seed?: Seed
}

/** KEYS: shape, bits. ARGV: bits, hashes, seed. The first to come decides; all of the bits are there from the beginning. */
const openScript = new Script(`#!lua
local found = redis.call('HMGET', KEYS[1], 'bits', 'hashes', 'seed')
if found[1] then return found end
redis.call('HSET', KEYS[1], 'bits', ARGV[1], 'hashes', ARGV[2], 'seed', ARGV[3])
redis.call('SETBIT', KEYS[2], ARGV[1] - 1, 0)
return ARGV
`)

/** Throws FILTER_OPTIONS_INVALID, FILTER_MISMATCH if there is one of this name and another size, and STORE_UNAVAILABLE. */
export async function openRedisFilter({ url, name, ...options }: RedisFilterOptions): Promise<RedisFilter> {
  const { bits, hashes } = sizeFor(options.entriesMax, options.falsePositiveRateMax)
  const seed = options.seed ?? crypto.getRandomValues(new BigUint64Array(1))[0]!
  const where = whereOf(url)
  const keys = { shape: `{freshet-filter:${name}}:shape`, bits: `{freshet-filter:${name}}:bits` }
  try {
    const client = await connectTo(url, { reconnects: true })
    const args = [`${bits}`, `${hashes}`, `${seed}`]
    const found = ((await openScript.run(client, keys.shape, args, [keys.bits])) as readonly Buffer[]).map(String)
    if (found[0] === args[0] && found[1] === args[1]) {
      return new RedisFilter(client, where, keys.bits, { bits, hashes }, BigInt(found[2]!))
    }
    client.destroy()
    throw new FilterError(
      'FILTER_MISMATCH',
      `The filter ${name} has ${found[0]} bits and ${found[1]} hashes, not ${bits} and ${hashes}. Open it for as many entries and the same rate, or choose another name.`,
    )
  } catch (error) {
    throw explain(where, error)
  }
}

export class RedisFilter {
  readonly bits: number
  readonly hashes: number
  readonly seed: Seed
  readonly #client: Client
  readonly #where: string
  readonly #key: string
  readonly #adding: BitCommands
  readonly #asking: BitCommands

  /** Use `openRedisFilter`. */
  constructor(client: Client, where: string, key: string, size: { bits: number; hashes: number }, seed: Seed) {
    this.bits = size.bits
    this.hashes = size.hashes
    this.seed = seed
    this.#client = client
    this.#where = where
    this.#key = key
    this.#adding = new BitCommands(client, key, { isAdding: true, hashes: size.hashes })
    this.#asking = new BitCommands(client, key, { isAdding: false, hashes: size.hashes })
  }

  /** Whether it is new: surely, if it is said to be. */
  async add(key: Key): Promise<boolean> {
    return !(await this.#send(this.#adding.one(this.#offsetsOf(key))))
  }

  /** For each, whether it is new. */
  async addAll(keys: readonly Key[]): Promise<readonly boolean[]> {
    const were = await this.#send(this.#adding.many(keys.map(key => this.#offsetsOf(key))))
    return were.map(isThere => !isThere)
  }

  async has(key: Key): Promise<boolean> {
    return this.#send(this.#asking.one(this.#offsetsOf(key)))
  }

  async hasAll(keys: readonly Key[]): Promise<readonly boolean[]> {
    return this.#send(this.#asking.many(keys.map(key => this.#offsetsOf(key))))
  }

  /** As it is now, to be asked here or handed out. Its count is an estimate. */
  async snapshot(): Promise<Bloom> {
    const found = (await this.#send(this.#client.sendCommand(['GET', this.#key]))) as Reply as Buffer | null
    const words = new Int32Array(Math.ceil(this.bits / 32))
    if (found) new Uint8Array(words.buffer).set(found.subarray(0, words.byteLength))
    const bloom = new Bloom(this, this.seed, words)
    bloom.count = Math.round(bloom.estimatedCount())
    return bloom
  }

  /** For all who share it. */
  async clear(): Promise<void> {
    await this.#send(this.#client.sendCommand(['DEL', this.#key]))
  }

  /** What is under way is answered first. */
  close(): Promise<void> {
    return this.#client.close()
  }

  #offsetsOf(key: Key): readonly string[] {
    const offsets: string[] = []
    for (const place of keyIndexes(key, this)) offsets.push(`${(place ^ 7) >>> 0}`)
    return offsets
  }

  async #send<Answer>(sent: Promise<Answer>): Promise<Answer> {
    try {
      return await sent
    } catch (error) {
      throw explain(this.#where, error)
    }
  }
}

function explain(where: string, error: unknown): unknown {
  if (error instanceof FilterError) return error
  return wordOf(error) === undefined ? unavailable(where, 'unknown', error) : refusalOf(where, error)
}
