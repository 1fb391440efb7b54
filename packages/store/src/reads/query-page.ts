/**
 * Queries over the tables of a database, all from one state. An index leads to ids, through ranges of its entries; the values
 * are read many at a time, and the whole filter is applied to each here. So a range may contain entries that do not match,
 * but must not miss any.
 */
import type { IndexRecord } from '@freshet/core/commit'
import {
  type Access,
  chooseAccess,
  dependenciesOf,
  describeAccess,
  orderOf,
  queryTooBroad,
  startOf,
} from '@freshet/core/queries'
import {
  compareUtf8,
  declaredAt,
  type Key,
  type QueryPage,
  type QueryVersion,
  type StoredEntry,
  type Version,
} from '@freshet/core/store'
import { idOfKey, type Place, QUERY_LIMIT_DEFAULT, type Query } from '@freshet/protocol'
import type { KeyRange, View } from '../engine/engine.js'
import { storeDamaged } from '../engine/store-errors.js'
import type { EntryRange } from '../indexes/index-keys.js'
import { entryRangesOf, idBounds, stepAt } from '../indexes/index-ranges.js'
import { tagKey } from '../indexes/index-records.js'
import { PageCollector } from '../indexes/page-collector.js'
import { keyRange } from './key-range.js'
import { entryOf } from './scan-page.js'

export const ENTRIES_PER_READ = 500
/** If a read was not enough, the next is this many times as large: few reads, and few needless entries. */
const GROWTH = 8

/** Some of the entries of a stretch, in order. */
interface Piece {
  readonly length: number
  /** The run of entries that this one must be sorted with; undefined: it is already in order. */
  runAt(i: number): string | undefined
  /** A view may read the value only at this call, so entries that are not wanted cost nothing. */
  entryAt(i: number): StoredEntry
}

/** Reads the entries of a range, piece by piece. */
type Stretch = (limit: number) => Promise<Piece>

export async function queryPage(view: View, bucket: Key, query: Query, scanMax: number): Promise<QueryPage> {
  const { value, position } = await view.indexes(bucket)
  const { indexes } = value
  const access = chooseAccess(query, indexes)
  const order = orderOf(query)
  const start = startOf(query, order)
  const tooBroad = () => queryTooBroad({ bucket, query, indexes, scanMax })
  const collector = new PageCollector({ query, order, start, isSorted: access.isSorted, scanMax, tooBroad })
  const index = indexes.find(({ name }) => name === access.index?.name)
  const stretches = index
    ? entryRangesOf(index.number, access, query, start).map(range => throughIndex(view, bucket, index, access, range))
    : [byId(view, bucket, access, start)]
  const { limit = QUERY_LIMIT_DEFAULT } = query
  const expected = access.isSorted ? limit + 1 : ENTRIES_PER_READ
  for (const stretch of stretches) if (!(await collect(stretch, collector, expected))) break
  const version = await versionOf(view, bucket, query, value)
  return { ...collector.finish(), ...version, position, plan: describeAccess(access) }
}

export async function queryVersion(view: View, bucket: Key, query: Query): Promise<QueryVersion> {
  const { value, position } = await view.indexes(bucket)
  return { ...(await versionOf(view, bucket, query, value)), position }
}

async function versionOf(
  view: View,
  bucket: Key,
  query: Query,
  { indexes, version }: { readonly indexes: readonly IndexRecord[]; readonly version: Version },
): Promise<Omit<QueryVersion, 'position'>> {
  const depends = dependenciesOf(bucket, query, indexes)
  if (depends === undefined) return { version, dependsOn: 'bucket' }
  const versions = await view.tagVersions(depends.tags.map(tagKey))
  return { version: Math.max(declaredAt(indexes, depends.fields)!, ...versions.values()), dependsOn: depends.tags }
}

/** False if nothing more is wanted. */
async function collect(stretch: Stretch, collector: PageCollector, expected: number): Promise<boolean> {
  for (let size = Math.min(expected, ENTRIES_PER_READ); ; size = Math.min(size * GROWTH, ENTRIES_PER_READ)) {
    const piece = await stretch(size)
    for (let i = 0; i < piece.length; i++) {
      const run = piece.runAt(i)
      if (!collector.wants(run)) return false
      collector.add(piece.entryAt(i), run)
    }
    if (piece.length < size) return true
  }
}

function throughIndex(view: View, bucket: Key, index: IndexRecord, access: Access, range: EntryRange): Stretch {
  let after: Buffer | undefined
  return async limit => {
    const keys = await view.entries({ ...range, after, isDescending: access.isDescending, limit })
    after = keys.at(-1) ?? after
    const steps = keys.map(key => stepAt(key, index.fields.length, access))
    const valueKeys = steps.map(({ id }) => `${bucket}/${id}`)
    const { value } = await view.values(valueKeys)
    return {
      length: steps.length,
      runAt: i => steps[i]!.run,
      entryAt: i => {
        const { id } = steps[i]!
        const found = value.get(valueKeys[i]!)
        if (found === undefined) throw storeDamaged(`an index of ${bucket} names ${id}, which does not exist`)
        return entryOf(id, found)
      },
    }
  }
}

/** Reads the bucket itself. */
function byId(view: View, bucket: Key, access: Access, start: Place | undefined): Stretch {
  let after = idStart(bucket, access, start)
  return async limit => {
    const { values } = await view.page(bucket, idRange(bucket, access, after, limit))
    after = values.at(-1)?.key ?? after
    return {
      length: values.length,
      runAt: () => undefined,
      entryAt: i => entryOf(idOfKey(values[i]!.key)!, values[i]!),
    }
  }
}

/** The key after which a bucket is read by id; undefined: it is read from its beginning, or its end. */
export function idStart(bucket: Key, { isSorted }: Access, start: Place | undefined): Key | undefined {
  return isSorted && start ? `${bucket}/${start.id}` : undefined
}

/** The range of a bucket to read, by id, after a key in the direction of reading. */
export function idRange(bucket: Key, { range, isDescending }: Access, after: Key | undefined, limit: number): KeyRange {
  const { low, high } = idBounds(`${bucket}/`, range?.conditions ?? [])
  const isAfterLow = after !== undefined && compareUtf8(after, low) >= 0
  const isBeforeHigh = after !== undefined && compareUtf8(after, high) < 0
  return isDescending
    ? keyRange({ key: low, isIncluded: true }, { key: isBeforeHigh ? after! : high, isIncluded: false }, limit, true)
    : keyRange({ key: isAfterLow ? after! : low, isIncluded: !isAfterLow }, { key: high, isIncluded: false }, limit)
}
