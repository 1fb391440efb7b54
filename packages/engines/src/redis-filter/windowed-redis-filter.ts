/**
 * A filter in Redis that forgets, shared by all clients that open it under its name: every key is remembered for at least
 * `windowMs`, and is then forgotten without a call that removes it. It is the rotating filter of `@freshet/bloom`, in Redis:
 * slices that take turns.
 *
 *     slice:3   slice:2   slice:1   slice:0
 *     [      ]  [      ]  [      ]  [ <- add writes here, and reads all
 *     dropped when a new slice begins; a script renames the others, which move on by one
 *
 * An operation is one round trip and atomic: a transaction of a BITFIELD for each slice. Slices are named by their age and
 * share a seed, so that clients need not know how many slices there have been.
 *
 * Nothing is forgotten early, whatever the clocks do: a client ends a slice only when that client has known it as the newest
 * for as long as it should last, by a clock that cannot be set. While no client has the filter open, nothing is forgotten.
 *
 * With more keys than planned it has more false positives (`estimatedRate`), but forgets nothing.
 */
import { FilterError, type FilterSize, type Key, type Seed, sizeFor } from '@freshet/bloom'
import { SharedTurn } from '@freshet/store/reads'
import { type Reply, Script } from '../redis/client.js'
import { type BitString, bloomOf, workOf } from './bit-work.js'
import { FilterLine } from './filter-line.js'
import { checkShape, inParts, randomSeed } from './redis-filter.js'

export interface WindowedRedisFilterOptions {
  /** `redis://user:password@host:6379/0`. */
  readonly url: string
  readonly name: string
  /** How long a key is remembered, at least. */
  readonly windowMs: number
  /** Keys expected within one window. */
  readonly entriesMax: number
  readonly falsePositiveRateMax: number
  /** The seed of a new filter; drawn at random unless given. */
  readonly seed?: Seed
  /** The more slices, the fewer bits the filter takes and the longer an operation. 4 unless given. */
  readonly slices?: number
}

type Shape = FilterSize & { readonly seed: Seed; readonly slices: number; readonly sliceMs: number }

/** KEYS: shape. ARGV: bits, hashes, seed, slices, sliceMs. The first client decides. */
const openScript = new Script(`#!lua
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'bits', ARGV[1], 'hashes', ARGV[2], 'seed', ARGV[3], 'slices', ARGV[4], 'sliceMs', ARGV[5], 'turns', 0)
end
return redis.call('HMGET', KEYS[1], 'bits', 'hashes', 'seed', 'slices', 'sliceMs', 'turns')
`)

/**
 * KEYS: shape, slices from the oldest. ARGV: the number of turns that this client knows; with another number it changes
 * nothing.
 */
const turnScript = new Script(`#!lua
if redis.call('HGET', KEYS[1], 'turns') ~= ARGV[1] then return redis.call('HGET', KEYS[1], 'turns') end
redis.call('UNLINK', KEYS[2])
for i = 3, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then redis.call('RENAME', KEYS[i], KEYS[i - 1]) end
end
return redis.call('HINCRBY', KEYS[1], 'turns', 1)
`)

const SLICES = 4
const TRY_AGAIN_MS = 1000

/** Throws FILTER_OPTIONS_INVALID, FILTER_MISMATCH if a filter of this name has another shape, and STORE_UNAVAILABLE. */
export async function openWindowedRedisFilter(options: WindowedRedisFilterOptions): Promise<WindowedRedisFilter> {
  const { url, name } = options
  const shape = shapeOf(options)
  const line = await FilterLine.open(url)
  try {
    const opened = await openShape(line, shapeKeyOf(name), shape)
    checkShape(name, shape, opened.shape)
    if (opened.shape.slices !== shape.slices || opened.shape.sliceMs !== shape.sliceMs) {
      throw new FilterError(
        'FILTER_MISMATCH',
        `The filter ${name} has ${opened.shape.slices} slices of ${opened.shape.sliceMs} ms, not ${shape.slices} of ` +
          `${shape.sliceMs}. Open it with the same window and slices, or choose another name.`,
      )
    }
    return new WindowedRedisFilter(line, name, opened.shape, opened.turns)
  } catch (error) {
    await line.close()
    throw error
  }
}

export class WindowedRedisFilter {
  readonly windowMs: number
  readonly #line: FilterLine
  readonly #shapeKey: string
  readonly #shape: Shape
  /** Newest first. */
  readonly #slices: readonly BitString[]
  readonly #adding: SharedTurn<Key, boolean>
  readonly #asking: SharedTurn<Key, boolean>
  #turns: number
  /** When this client learnt of the current number of turns, by `performance.now()`. */
  #knownSinceMs = performance.now()
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  /** Use `openWindowedRedisFilter`. */
  constructor(line: FilterLine, name: string, shape: Shape, turns: number) {
    const { bits, hashes, seed } = shape
    this.windowMs = shape.sliceMs * (shape.slices - 1)
    this.#line = line
    this.#shapeKey = shapeKeyOf(name)
    this.#shape = shape
    this.#slices = Array.from({ length: shape.slices }, (_, age) => {
      return { name: `{freshet-filter:${name}}:slice:${age}`, bits, hashes, seed }
    })
    this.#turns = turns
    this.#adding = new SharedTurn(keys => this.addAll(keys))
    this.#asking = new SharedTurn(keys => this.hasAll(keys))
    this.#turnIn(shape.sliceMs)
  }

  /**
   * Whether the key is new within the window. True is certain; false may be a false positive. Known or new, it is remembered
   * from now on.
   */
  add(key: Key): Promise<boolean> {
    return this.#adding.ask(key)
  }

  async addAll(keys: readonly Key[]): Promise<readonly boolean[]> {
    return (await this.#work(keys, true)).map(wasThere => !wasThere)
  }

  has(key: Key): Promise<boolean> {
    return this.#asking.ask(key)
  }

  hasAll(keys: readonly Key[]): Promise<readonly boolean[]> {
    return this.#work(keys, false)
  }

  /** The false-positive rate as the filter is now. */
  async estimatedRate(): Promise<number> {
    const found = await this.#line.send(this.#slices.map(({ name }) => ['GET', name]))
    return 1 - this.#slices.reduce((never, slice, i) => never * (1 - bloomOf(slice, found[i]!).estimatedRate()), 1)
  }

  /** Pending calls are answered first. */
  close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    return this.#line.close()
  }

  #work(keys: readonly Key[], isAdding: boolean): Promise<readonly boolean[]> {
    return inParts(keys, this.#shape, part => this.#workOnPart(part, isAdding))
  }

  /** For each key, whether one of the slices had it. */
  async #workOnPart(keys: readonly Key[], isAdding: boolean): Promise<readonly boolean[]> {
    const works = this.#slices.map((slice, age) => workOf(slice, keys, isAdding && age === 0))
    const replies = await this.#line.send(works.flatMap(({ commands }) => commands))
    let from = 0
    const were = works.map(({ commands, read }) => {
      const until = from + commands.length
      const own = replies.slice(from, until)
      from = until
      return read(own)
    })
    return keys.map((_, i) => were.some(slice => slice[i]))
  }

  #turnIn(ms: number): void {
    clearTimeout(this.#timer)
    if (!this.#isClosed) this.#timer = setTimeout(() => this.#turn(), Math.max(1, ms)).unref()
  }

  async #turn(): Promise<void> {
    const { sliceMs } = this.#shape
    const leftMs = this.#knownSinceMs + sliceMs - performance.now()
    if (leftMs > 0) return this.#turnIn(leftMs)
    try {
      const keys = [this.#shapeKey, ...this.#slices.map(({ name }) => name).reverse()]
      const turns = await this.#line.run(turnScript, keys, [`${this.#turns}`])
      // Null: Redis was emptied.
      this.#turns = turns === null ? (await openShape(this.#line, this.#shapeKey, this.#shape)).turns : Number(turns)
      this.#knownSinceMs = performance.now()
      return this.#turnIn(sliceMs)
    } catch {
      // The next call reports what is wrong.
      return this.#turnIn(TRY_AGAIN_MS)
    }
  }
}

function shapeKeyOf(name: string): string {
  return `{freshet-filter:${name}}:window`
}

function shapeOf({
  windowMs,
  entriesMax,
  falsePositiveRateMax,
  slices = SLICES,
  seed,
}: WindowedRedisFilterOptions): Shape {
  if (!Number.isInteger(slices) || slices < 2) throw invalid(`slices must be a whole number, 2 or more, not ${slices}.`)
  if (!(Number.isFinite(windowMs) && windowMs >= slices - 1)) {
    throw invalid(`windowMs must be a time of ${slices - 1} ms or more, not ${windowMs}.`)
  }
  // A slice is dropped late by up to its own length, so s slices cover s - 1 lengths; each gets its share of the rate.
  const size = sizeFor(Math.ceil(entriesMax / (slices - 1)), 1 - (1 - falsePositiveRateMax) ** (1 / slices))
  return { ...size, seed: seed ?? randomSeed(), slices, sliceMs: Math.ceil(windowMs / (slices - 1)) }
}

async function openShape(line: FilterLine, key: string, asked: Shape): Promise<{ shape: Shape; turns: number }> {
  const args = [asked.bits, asked.hashes, asked.seed, asked.slices, asked.sliceMs].map(String)
  const found = (await line.run(openScript, [key], args)) as readonly Reply[]
  const [bits, hashes, seed, slices, sliceMs, turns] = found.map(String)
  return {
    shape: {
      bits: Number(bits),
      hashes: Number(hashes),
      seed: BigInt(seed!),
      slices: Number(slices),
      sliceMs: Number(sliceMs),
    },
    turns: Number(turns),
  }
}

function invalid(message: string): FilterError {
  return new FilterError('FILTER_OPTIONS_INVALID', message)
}
