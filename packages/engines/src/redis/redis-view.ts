/**
 * One state of Redis, as a `View`. One script reads everything that is expected to be needed. If that was not enough, the view
 * reads again. If the data has changed meanwhile, it throws `StateMoved`, and `RedisViews` begins again with a view that reads
 * more at once.
 */
import type { IndexRecord } from '@freshet/core/commit'
import { chooseAccess, dependenciesOf, orderOf, startOf } from '@freshet/core/queries'
import type { Key, Position, Snapshot, StoredValue, StoreQuery, Version } from '@freshet/core/store'
import { QUERY_LIMIT_DEFAULT } from '@freshet/protocol'
import type { AsyncView, BucketPage, EntriesRange, KeyRange, Subject } from '@freshet/store/engine'
import { entryRangesOf, tagKey } from '@freshet/store/indexes'
import { ENTRIES_PER_READ, idRange, idStart } from '@freshet/store/reads'
import type { DeclaredIndexes } from './declared-indexes.js'
import {
  type BucketState,
  idSource,
  type LexRange,
  NO_SOURCE,
  type RedisReader,
  type Row,
  readState,
  readValues,
  type Source,
  valueIn,
  type Wanted,
} from './read-state.js'

export interface RedisViewOptions {
  readonly reader: RedisReader
  readonly subject: Subject
  /** The indexes of the subject's bucket as far as they are known. */
  readonly declared: DeclaredIndexes
  /** One read fetches this many times as much as is expected to be needed. */
  readonly growth: number
}

/** The data that was read before is of another state. */
export class StateMoved extends Error {
  override readonly name = 'StateMoved'
}

/** Rows of a range that were read, and not requested yet. */
interface Ahead {
  readonly rows: readonly Row[]
  /** The range has no more rows. */
  readonly isComplete: boolean
}

type BucketIndexes = Snapshot<{ readonly indexes: readonly IndexRecord[]; readonly version: Version }>

const NOTHING_AHEAD: Ahead = { rows: [], isComplete: false }
const NO_ENTRIES: Wanted = { hasIndexes: true, tags: [], source: NO_SOURCE, ranges: [], count: 0 }
/**
 * How many entries one read of a scan has, if a filter or a high limit needs several reads. Redis does nothing else during a
 * read.
 */
const SCANNED_MIN = 256
const SCANNED_MAX = 10_000

export class RedisView implements AsyncView {
  readonly #options: RedisViewOptions
  /** By the rest of the range. */
  readonly #ahead = new Map<string, Ahead>()
  #declared: DeclaredIndexes
  #indexes: Promise<BucketIndexes> | undefined
  #version: Version | undefined
  #position: Position | undefined
  #tagVersions: ReadonlyMap<string, Version> = new Map()
  /** The entries that were requested last. */
  #entered: readonly Row[] | undefined

  constructor(options: RedisViewOptions) {
    this.#options = options
    this.#declared = options.declared
  }

  /** The indexes as they were read last. */
  get declared(): DeclaredIndexes {
    return this.#declared
  }

  /** Reads all that the subject is expected to need, once. */
  indexes(bucket: Key): Promise<BucketIndexes> {
    this.#indexes ??= this.#begin(bucket)
    return this.#indexes
  }

  async tagVersions(tags: readonly string[]): Promise<ReadonlyMap<string, Version>> {
    return new Map(tags.map(tag => [tag, this.#tagVersions.get(tag) ?? 0]))
  }

  async entries({ low, high, after, isDescending, limit }: EntriesRange): Promise<readonly Buffer[]> {
    const index = this.#declared.indexes.find(({ number }) => number === low.readUInt32BE())!
    const source = entrySource(index, isDescending)
    const range = lexOf(low, high)
    const rest = after === undefined ? range : behind(source, range, after)
    this.#entered = await this.#take(this.#options.subject.bucket!, source, rest, limit)
    return this.#entered.map(({ member }) => member)
  }

  /** The values of the entries that were requested last are at hand, in their order: that is how queries request them. */
  values(keys: readonly Key[]): Promise<Snapshot<ReadonlyMap<Key, StoredValue>>> {
    const entered = this.#entered
    return entered && this.#isSameList(keys, entered) ? this.#valuesOf(keys, entered) : this.#readValues(keys)
  }

  async page(bucket: Key, range: KeyRange): Promise<BucketPage> {
    const { reader } = this.#options
    const rows = await this.#take(bucket, idSource(bucket, range.isDescending), lexOfIds(bucket, range), range.limit)
    const values = rows.map(({ member, record }) => {
      const key = `${bucket}/${member}`
      const { version, contentType, body } = valueIn(record, key, reader)
      return { key, version, contentType, body }
    })
    return { values, version: this.#version!, position: this.#position! }
  }

  /** Whether these are the keys of these entries. An entry ends with its id, and comparing the last one is enough. */
  #isSameList(keys: readonly Key[], entered: readonly Row[]): boolean {
    if (keys.length !== entered.length) return false
    const [key, last] = [keys.at(-1), entered.at(-1)]
    if (key === undefined || last === undefined) return true
    const id = key.slice(this.#options.subject.bucket!.length + 1)
    return last.member.toString('utf8', last.member.length - Buffer.byteLength(id)) === id
  }

  async #valuesOf(keys: readonly Key[], entered: readonly Row[]): Promise<Snapshot<ReadonlyMap<Key, StoredValue>>> {
    const { reader } = this.#options
    const value = new Map<Key, StoredValue>()
    for (let i = 0; i < keys.length; i++) {
      const { record } = entered[i]!
      if (record !== null) value.set(keys[i]!, valueIn(record, keys[i]!, reader))
    }
    return { value, position: this.#position! }
  }

  async #begin(bucket: Key): Promise<BucketIndexes> {
    const before = this.#declared
    const wanted = this.#wantedBy(before)
    const state = await this.#read(bucket, wanted)
    const { declared, position, version } = state
    if (declared !== before && !isSame(this.#wantedBy(declared), wanted)) {
      throw new StateMoved(`${bucket} has other indexes`)
    }
    this.#tagVersions = new Map(wanted.tags.map((tag, i) => [tagKey(tag), state.tagVersions[i]!]))
    let left = wanted.count
    for (const [i, rows] of state.chunks.entries()) {
      this.#ahead.set(nameOf(wanted.source, wanted.ranges[i]!), { rows, isComplete: rows.length < left })
      left -= rows.length
    }
    return { value: { indexes: declared.indexes, version }, position }
  }

  /** What the subject is expected to need under these indexes. */
  #wantedBy({ indexes }: DeclaredIndexes): Wanted {
    const { bucket, query, expected } = this.#options.subject
    if (bucket === undefined || query === undefined) return NO_ENTRIES
    const tags = dependenciesOf(bucket, query, indexes)?.tags ?? []
    return expected === 0
      ? { ...NO_ENTRIES, tags }
      : { ...NO_ENTRIES, tags, ...this.#entriesFor(bucket, query, indexes) }
  }

  #entriesFor(
    bucket: Key,
    query: StoreQuery,
    indexes: readonly IndexRecord[],
  ): Pick<Wanted, 'source' | 'ranges' | 'count'> {
    const access = chooseAccess(query, indexes)
    const start = startOf(query, orderOf(query))
    const { limit = QUERY_LIMIT_DEFAULT } = query
    const count = this.#countFor(access.isSorted ? limit + 1 : ENTRIES_PER_READ)
    const index = indexes.find(({ name }) => name === access.index?.name)
    if (index) {
      const ranges = entryRangesOf(index.number, access, query, start).map(({ low, high }) => lexOf(low, high))
      return { source: entrySource(index, access.isDescending), ranges, count }
    }
    const range = lexOfIds(bucket, idRange(bucket, access, idStart(bucket, access, start), count))
    return { source: idSource(bucket, access.isDescending), ranges: [range], count }
  }

  /** How many entries one read has when `asked` entries are requested. */
  #countFor(asked: number): number {
    const { growth, subject } = this.#options
    const { query, expected = asked, isOneRead } = subject
    if (isOneRead) return asked
    if (query !== undefined) return Math.min(growth * asked, Math.max(expected, asked))
    return growth * Math.min(Math.max(expected, SCANNED_MIN), SCANNED_MAX)
  }

  /** The first `limit` rows of a range; fewer if there are no more. */
  async #take(bucket: Key, source: Source, range: LexRange, limit: number): Promise<readonly Row[]> {
    let { rows, isComplete } = this.#takeAhead(source, range)
    while (!isComplete && rows.length < limit) {
      const last = rows.at(-1)
      const rest = last === undefined ? range : behind(source, range, last.member)
      const count = this.#countFor(limit)
      const wanted = { hasIndexes: false, tags: [], source, ranges: [rest], count }
      const [more = []] = (await this.#read(bucket, wanted)).chunks
      rows = rows.length === 0 ? more : [...rows, ...more]
      isComplete = more.length < count
    }
    if (rows.length < limit || this.#options.subject.isOneRead) return rows
    const rest = behind(source, range, rows[limit - 1]!.member)
    this.#ahead.set(nameOf(source, rest), { rows: rows.slice(limit), isComplete })
    return rows.slice(0, limit)
  }

  #takeAhead(source: Source, range: LexRange): Ahead {
    if (this.#ahead.size === 0) return NOTHING_AHEAD
    const name = nameOf(source, range)
    const ahead = this.#ahead.get(name) ?? NOTHING_AHEAD
    this.#ahead.delete(name)
    return ahead
  }

  async #read(bucket: Key, wanted: Wanted): Promise<BucketState> {
    const state = await readState(this.#options.reader, bucket, wanted, this.#declared)
    if (this.#version !== undefined && this.#version !== state.version) throw new StateMoved(`${bucket} has changed`)
    this.#version = state.version
    this.#position = state.position
    this.#declared = state.declared
    return state
  }

  async #readValues(keys: readonly Key[]): Promise<Snapshot<ReadonlyMap<Key, StoredValue>>> {
    const values = await readValues(this.#options.reader, keys)
    if (this.#position !== undefined && this.#position !== values.position)
      throw new StateMoved('Something has changed')
    this.#position = values.position
    return values
  }
}

function entrySource(index: IndexRecord, isDescending: boolean): Source {
  return { key: `e:${index.number}`, fields: index.fields.length, isDescending }
}

const INCLUDED = Buffer.from('[')
const EXCLUDED = Buffer.from('(')

function lexOf(low: Buffer, high: Buffer): LexRange {
  return { low: Buffer.concat([INCLUDED, low]), high: Buffer.concat([EXCLUDED, high]) }
}

function lexOfIds(bucket: Key, { low, high }: KeyRange): LexRange {
  const folder = `${bucket}/`
  const bound = ({ key, isIncluded }: KeyRange['low']) =>
    Buffer.from((isIncluded ? '[' : '(') + key.slice(folder.length))
  return { low: bound(low), high: high.key.startsWith(folder) ? bound(high) : Buffer.from('+') }
}

/** The rest of a range, in the direction of reading. */
function behind({ isDescending }: Source, { low, high }: LexRange, last: Buffer): LexRange {
  const bound = Buffer.concat([EXCLUDED, last])
  return isDescending ? { low, high: bound } : { low: bound, high }
}

function nameOf({ key, isDescending }: Source, { low, high }: LexRange): string {
  return JSON.stringify([key, isDescending, low.toString('latin1'), high.toString('latin1')])
}

function isSame(a: Wanted, b: Wanted): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
