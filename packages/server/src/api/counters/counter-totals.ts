/**
 * `GET /db/{namespace}/{bucket}?sum` and `?top=10`: the sum of a bucket's counters, and the largest of them, from one state.
 * Caches may keep the answer like any list of the bucket, since every change in the bucket is a change of its path.
 */
import { formatUnits, parseUnits } from '@freshet/core/counters'
import type { StoredEntry } from '@freshet/core/store'
import type { FreshetError, Key, Position, Version } from '@freshet/protocol'
import { type Caller, PRIVATE } from '../../access/caller.js'
import type { Bucket } from '../../buckets/bucket-directory.js'
import { bucketNotFound } from '../../buckets/refusals.js'
import type { Answer } from '../../http/answer.js'
import { type Parameters, parameterInvalid } from '../../http/request-target.js'
import type { Call } from '../../routing/call.js'
import { overLimit } from '../../settings/limits.js'
import { answerJudged, type PlacedAnswer } from '../lists/answer-judged.js'
import { type PageReaderOptions, placedPage, unchangedPage } from '../lists/page-answer.js'

export const TOTALS_PARAMETERS: readonly string[] = ['sum', 'top']
const TOP_MAX = 1000

export function asksForTotals(parameters: Parameters): boolean {
  return TOTALS_PARAMETERS.some(name => parameters.has(name))
}

interface Valued {
  readonly id: string
  readonly units: number
}

export class CounterTotals {
  readonly #options: PageReaderOptions

  constructor(options: PageReaderOptions) {
    this.#options = options
  }

  async read(key: Key, call: Call): Promise<Answer> {
    const top = topOf(call.parameters)
    return answerJudged(call, this.#options, at => this.#answer(key, call, top, at))
  }

  async #answer(key: Key, { exchange, caller }: Call, top: number | undefined, at: Position): Promise<PlacedAnswer> {
    const { buckets, follower } = this.#options
    caller?.check('list', key)
    const bucket = buckets.get(key)
    if (bucket === undefined) throw bucketNotFound(key, follower.position)
    if (bucket.settings.kind !== 'counter') throw parameterInvalid('sum and top are for buckets of kind "counter".')
    const isOpen = caller === undefined || caller.seesWhatAllSee(key)
    const { entries, version, position } = await this.#counters(key, caller)
    const cacheControl = isOpen ? buckets.cacheControl({ key, version, isAt: at !== 0 }) : PRIVATE
    const facts = { cacheControl, version, position }
    const { headers } = exchange.request
    const unchanged = unchangedPage(facts, headers['if-none-match'])
    if (unchanged !== undefined) return unchanged
    const body = Buffer.from(`${render(bucket, valuesOf(entries, bucket), top)}\n`)
    return placedPage(this.#options, key, facts, body, headers)
  }

  /**
   * The counters that the caller sees, read in one step, so they are of one state. They have no version if others may be
   * hidden.
   */
  async #counters(key: Key, caller: Caller | undefined): Promise<Counters> {
    const { store, rows, settings } = this.#options
    const limit = settings.countersMax
    if (caller === undefined || caller.seesAllOf(key)) {
      const { entries, next, version, position } = await store.scan(key, { limit })
      if (next !== undefined) throw tooMany(limit)
      return { entries, version, position }
    }
    const { entries, hasMore, position } = await rows.list(key, caller, {}, limit, limit)
    if (hasMore) throw tooMany(limit)
    return { entries, position }
  }
}

interface Counters {
  readonly entries: readonly StoredEntry[]
  readonly version?: Version
  readonly position: Position
}

/** Undefined: the sum was requested. */
function topOf(parameters: Parameters): number | undefined {
  const others = [...parameters.keys()].filter(name => name !== 'at')
  if (others.length > 1) throw parameterInvalid(`${others[0]} can be combined only with at.`)
  const top = parameters.get('top')
  if (top === undefined) return undefined
  if (/^[1-9][0-9]{0,3}$/.test(top) && Number(top) <= TOP_MAX) return Number(top)
  throw parameterInvalid(`top must be a whole number from 1 to ${TOP_MAX}.`)
}

function valuesOf(entries: readonly StoredEntry[], { settings: { decimals = 0 } }: Bucket): readonly Valued[] {
  const decoder = new TextDecoder()
  return entries.map(({ id, body }) => ({ id, units: parseUnits(decoder.decode(body), decimals) ?? 0 }))
}

function render({ settings: { decimals = 0 } }: Bucket, values: readonly Valued[], top: number | undefined): string {
  if (top === undefined) {
    // A sum of safe integers may not be a safe integer.
    const sum = values.reduce((sum, { units }) => sum + BigInt(units), 0n)
    return `{"sum":${formatBig(sum, decimals)},"count":${values.length}}`
  }
  const largest = [...values].sort((a, b) => b.units - a.units || (a.id < b.id ? -1 : 1)).slice(0, top)
  const items = largest.map(({ id, units }) => `{"id":${JSON.stringify(id)},"value":${formatUnits(units, decimals)}}`)
  return `{"items":[${items.join(',')}]}`
}

function formatBig(units: bigint, decimals: number): string {
  const scale = 10n ** BigInt(decimals)
  const whole = units < 0n ? -units : units
  const fraction = decimals === 0 ? '' : `.${`${whole % scale}`.padStart(decimals, '0')}`
  return `${units < 0n ? '-' : ''}${whole / scale}${fraction}`
}

function tooMany(countersMax: number): FreshetError {
  return overLimit({
    code: 'LIMIT_EXCEEDED',
    limit: 'countersMax',
    what: `This bucket has more than ${countersMax} counters, the most that this server adds up.`,
    instead: 'Divide them among several buckets, add up a list of them yourself',
    details: { countersMax },
  })
}
