/**
 * Queries over the tables of a database, all from one state. An index leads to the ids, by ranges of its entries; the values are
 * read many at a time, and the whole filter is asked of each here. So a range may hold more than it should, never less.
 */
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
import { type Place, QUERY_LIMIT_DEFAULT, type Query } from '@freshet/protocol'
import type { EntryRange } from '../embedded/indexes/index-keys.js'
import { entryRangesOf, idBounds, stepAt } from '../embedded/indexes/index-ranges.js'
import { type IndexRecord, tagKey } from '../embedded/indexes/index-records.js'
import { PageCollector } from '../embedded/indexes/page-collector.js'
import { keyRange } from './key-range.js'
import type { SqlView } from './sql-engine.js'
import { storeDamaged } from './sql-errors.js'

const ENTRIES_PER_READ = 500

/** An entry, and what it has in common with those that it is to be sorted with; undefined: it is in its place. */
interface Read {
  readonly entry: StoredEntry
  readonly run: string | undefined
}

/** What lies on the way, piece by piece. */
type Stretch = (limit: number) => Promise<readonly Read[]>

export async function queryPage(view: SqlView, bucket: Key, query: Query, scanMax: number): Promise<QueryPage> {
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

export async function queryVersion(view: SqlView, bucket: Key, query: Query): Promise<QueryVersion> {
  const { value, position } = await view.indexes(bucket)
  return { ...(await versionOf(view, bucket, query, value)), position }
}

async function versionOf(
  view: SqlView,
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
  for (let size = Math.min(expected, ENTRIES_PER_READ); ; size = ENTRIES_PER_READ) {
    const reads = await stretch(size)
    for (const { entry, run } of reads) {
      if (!collector.wants(run)) return false
      collector.add(entry, run)
    }
    if (reads.length < size) return true
  }
}

function throughIndex(view: SqlView, bucket: Key, index: IndexRecord, access: Access, range: EntryRange): Stretch {
  let after: Buffer | undefined
  return async limit => {
    const keys = await view.entries({ ...range, after, isDescending: access.isDescending, limit })
    after = keys.at(-1) ?? after
    const steps = keys.map(key => stepAt(key, index.fields.length, access))
    const { value } = await view.values(steps.map(({ id }) => `${bucket}/${id}`))
    return steps.map(({ id, run }) => {
      const found = value.get(`${bucket}/${id}`)
      if (found === undefined) throw storeDamaged(`an index of ${bucket} names ${id}, which is not there`)
      return { entry: { id, ...found }, run }
    })
  }
}

/** The bucket itself. */
function byId(
  view: SqlView,
  bucket: Key,
  { range, isSorted, isDescending }: Access,
  start: Place | undefined,
): Stretch {
  const folder = `${bucket}/`
  const { low, high } = idBounds(folder, range?.conditions ?? [])
  let after = isSorted && start ? folder + start.id : undefined
  return async limit => {
    const isAfterLow = after !== undefined && compareUtf8(after, low) >= 0
    const isBeforeHigh = after !== undefined && compareUtf8(after, high) < 0
    const bounds = isDescending
      ? keyRange({ key: low, isIncluded: true }, { key: isBeforeHigh ? after! : high, isIncluded: false }, limit, true)
      : keyRange({ key: isAfterLow ? after! : low, isIncluded: !isAfterLow }, { key: high, isIncluded: false }, limit)
    const { values } = await view.page(bucket, bounds)
    after = values.at(-1)?.key ?? after
    return values.map(({ key, ...value }) => ({ entry: { id: key.slice(folder.length), ...value }, run: undefined }))
  }
}
