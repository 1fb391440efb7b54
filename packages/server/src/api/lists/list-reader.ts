/**
 * `GET /db/{namespace}/{bucket}`: a page of a bucket, from one state. Caches may keep it as long as an object: the sketch has
 * every change in the bucket as a change of the bucket's own path, which is the path of all its lists.
 */
import type { ScanRange, StoredEntry, StoredValue } from '@freshet/core/store'
import { checkId, type Key, type Position, type Version } from '@freshet/protocol'
import { type Caller, PRIVATE } from '../../access/caller.js'
import type { Bucket } from '../../buckets/bucket-directory.js'
import { bucketNotFound } from '../../buckets/refusals.js'
import type { Answer } from '../../http/answer.js'
import { type Parameters, parameterInvalid } from '../../http/request-target.js'
import type { Call } from '../../routing/call.js'
import { overLimit } from '../../settings/limits.js'
import { answerJudged, type PlacedAnswer } from './answer-judged.js'
import { type PageReaderOptions, placedPage, unchangedPage } from './page-answer.js'

export const LIST_PARAMETERS: readonly string[] = ['after', 'at', 'embed', 'from', 'ids', 'limit', 'prefix', 'to']
const LIMIT_DEFAULT = 100
/** Values are read in steps, so that a page of large values does not fill the memory. */
const STEP = 100

interface Page {
  readonly entries: readonly ListedEntry[]
  readonly next?: string | undefined
  readonly position: Position
  /** The bucket's version; undefined if the page has no version, or the version would reveal hidden objects. */
  readonly version?: Version
}

type ListedEntry = Pick<StoredEntry, 'id' | 'version'> & Partial<StoredValue>

export class ListReader {
  readonly #options: PageReaderOptions

  constructor(options: PageReaderOptions) {
    this.#options = options
  }

  list(key: Key, call: Call): Promise<Answer> {
    return answerJudged(call, this.#options, at => this.#answer(key, call, at))
  }

  async #answer(key: Key, { exchange, parameters, caller }: Call, at: Position): Promise<PlacedAnswer> {
    const { buckets, follower } = this.#options
    caller?.check('list', key)
    const bucket = buckets.get(key)
    if (bucket === undefined) throw bucketNotFound(key, follower.position)
    const isOpen = caller === undefined || caller.seesWhatAllSee(key)
    const page = await this.#read(key, parameters, caller?.seesAllOf(key) ? undefined : caller)
    const cacheControl = isOpen ? buckets.cacheControl({ key, version: page.version, isAt: at !== 0 }) : PRIVATE
    const { version, position } = page
    const facts = { cacheControl, version, position }
    const { headers } = exchange.request
    const unchanged = unchangedPage(facts, headers['if-none-match'])
    return unchanged ?? placedPage(this.#options, key, facts, render(page, bucket, parameters.has('embed')), headers)
  }

  /** `caller`: given if the caller sees only some of the objects. */
  #read(key: Key, parameters: Parameters, caller: Caller | undefined): Promise<Page> {
    if (parameters.has('ids')) return this.#many(key, parameters, caller)
    return caller === undefined ? this.#page(key, parameters) : this.#visiblePage(key, parameters, caller)
  }

  async #many(key: Key, parameters: Parameters, caller: Caller | undefined): Promise<Page> {
    const others = [...parameters.keys()].filter(name => !['ids', 'embed', 'at'].includes(name))
    if (others.length > 0) throw parameterInvalid(`ids cannot be combined with ${others.join(', ')}.`)
    const ids = parameters.get('ids')!.split(',').map(decodeURIComponent)
    this.#checkCount('ids', ids.length)
    for (const id of ids) checkId(id)
    const { value, position } = await this.#options.store.getMany(ids.map(id => `${key}/${id}`))
    const seen = (found: StoredValue | undefined, i: number) =>
      caller === undefined || caller.may('read', `${key}/${ids[i]}`, found) ? found : undefined
    // A missing object is listed with version 0.
    return { entries: ids.map((id, i) => ({ version: 0, ...seen(value[i], i), id })), position }
  }

  async #page(key: Key, parameters: Parameters): Promise<Page> {
    const limit = this.#limitOf(parameters)
    const range = rangeOf(parameters)
    const entries: StoredEntry[] = []
    const isFull = this.#fullness(parameters)
    let step = await this.#options.store.scan(key, { ...range, limit: Math.min(STEP, limit) })
    const { version, position } = step
    for (;;) {
      for (const entry of step.entries) {
        if (isFull(entry)) return { entries, next: entries.at(-1)!.id, version, position }
        entries.push(entry)
      }
      const { next } = step
      if (next === undefined || entries.length >= limit) return { entries, next, version, position }
      const rest = Math.min(STEP, limit - entries.length)
      step = await this.#options.store.scan(key, { ...range, after: next, limit: rest })
      // The bucket has changed in between. A page is from one state, so this one ends here.
      if (step.version !== version) return { entries, next, version, position }
    }
  }

  /**
   * The page of a caller who sees only some of the objects. It must not reveal the others, so it has no version, and its cursor
   * is sealed.
   */
  async #visiblePage(key: Key, parameters: Parameters, caller: Caller): Promise<Page> {
    const { rows, seals } = this.#options
    const limit = this.#limitOf(parameters)
    const { after: sealed, ...range } = rangeOf(parameters)
    const seal = seals.of(caller, key, JSON.stringify(['list', range]))
    const entries: StoredEntry[] = []
    const isFull = this.#fullness(parameters)
    let after = sealed === undefined ? undefined : await seal.open(sealed)
    let position: Position | undefined
    for (;;) {
      const bounds = after === undefined ? range : { ...range, after }
      const step = await rows.list(key, caller, bounds, limit - entries.length)
      position ??= step.position
      const cut = async () => ({ entries, next: await seal.seal(entries.at(-1)!.id), position: position! })
      // Something has changed in between, and a page is from one state.
      if (entries.length > 0 && step.changedAt > position) return cut()
      for (const entry of step.entries) {
        if (isFull(entry)) return cut()
        entries.push(entry)
      }
      if (!step.hasMore) return { entries, position }
      if (entries.length >= limit) return cut()
      after = entries.at(-1)!.id
    }
  }

  /** Returns whether the page has no room for one more entry. */
  #fullness(parameters: Parameters): (entry: StoredEntry) => boolean {
    const countsBody = parameters.has('embed')
    let bytes = 0
    let count = 0
    return ({ id, body }) => {
      bytes += id.length + (countsBody ? body.length : 0)
      return count++ > 0 && bytes > this.#options.settings.listBytesMax
    }
  }

  #limitOf(parameters: Parameters): number {
    const text = parameters.get('limit')
    if (text === undefined) return Math.min(LIMIT_DEFAULT, this.#options.settings.listLimitMax)
    if (!/^[1-9][0-9]{0,8}$/.test(text)) throw parameterInvalid('limit must be a whole number, at least 1.')
    this.#checkCount('limit', Number(text))
    return Number(text)
  }

  #checkCount(name: string, count: number): void {
    const { listLimitMax } = this.#options.settings
    if (count <= listLimitMax) return
    throw overLimit({
      code: 'LIMIT_EXCEEDED',
      limit: 'listLimitMax',
      what: `${count} objects were requested with ${name}, more than the ${listLimitMax} that one list can hold on this server.`,
      instead: 'Request several lists',
      details: { listLimitMax },
    })
  }
}

function rangeOf(parameters: Parameters): ScanRange {
  const names = ['after', 'from', 'prefix', 'to'].filter(name => parameters.has(name))
  return Object.fromEntries(names.map(name => [name, parameters.get(name)!]))
}

/** Inserts the stored bytes unchanged. */
function render({ entries, next }: Page, { settings }: Bucket, embeds: boolean): Buffer {
  const parts: Uint8Array[] = []
  const put = (text: string) => parts.push(Buffer.from(text))
  put('{"items":[')
  entries.forEach((entry, i) => {
    put(`${i === 0 ? '' : ','}{"id":${JSON.stringify(entry.id)},"version":${entry.version}`)
    if (embeds && entry.body !== undefined) {
      put(',"value":')
      if (settings.kind !== 'kv') parts.push(entry.body)
      else put(JSON.stringify({ contentType: entry.contentType, base64: Buffer.from(entry.body).toString('base64') }))
    }
    put('}')
  })
  put(next === undefined ? ']}\n' : `],"next":${JSON.stringify(next)}}\n`)
  return Buffer.concat(parts)
}
