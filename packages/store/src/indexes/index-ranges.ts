/**
 * The ranges, of an index or of the bucket by id, that contain the entries of a query. They are as narrow as is simple: a
 * range may contain entries that do not match, but never misses one that does. The same for every store that keeps entries as
 * `index-keys.ts` lays them out.
 */
import { type Access, combinations, orderOf } from '@freshet/core/queries'
import { compareUtf8 } from '@freshet/core/store'
import { type Condition, ID_FIELD, type Place, type Query } from '@freshet/protocol'
import { isTooLong } from '../records/value-record.js'
import {
  type EntryRange,
  earlier,
  encodeIndexValue,
  entriesUnder,
  indexPrefix,
  later,
  mayBeCut,
  narrow,
  valueEnds,
} from './index-keys.js'

/** What an entry leads to. */
export interface Step {
  readonly key: Buffer
  readonly id: string
  /** Names the run of entries that this one must be sorted with; undefined: the entry is already in order. */
  readonly run: string | undefined
}

/** One for each combination of the values that the query requires. */
export function entryRangesOf(
  index: number,
  access: Access,
  query: Query,
  start: Place | undefined,
): readonly EntryRange[] {
  const seek = sortedValues(access, query, start)
  const prefixes = combinations(access.equal).map(values =>
    Buffer.concat([indexPrefix(index), ...values.map(encodeIndexValue)]),
  )
  // Texts that differ only after the cut lead to the same range, which must be read only once.
  const places = new Map(prefixes.map(prefix => [prefix.toString('latin1'), prefix]))
  return [...places.values()].map(prefix => {
    const range = narrowed(prefix, access)
    const isExact = access.sortedFields === undefined && !seek.some(mayBeCut)
    const place = Buffer.concat([prefix, ...seek, ...(isExact && start ? [Buffer.from(start.id)] : [])])
    return start && access.isSorted ? beginAt(range, place, access.isDescending) : range
  })
}

function narrowed(prefix: Buffer, { equal, range }: Access): EntryRange {
  const all = entriesUnder(prefix)
  if (range?.field !== ID_FIELD) return narrow(all, prefix, range?.conditions ?? [])
  // After a cut text, ids are in no order.
  if (equal.flat().some(value => mayBeCut(encodeIndexValue(value)))) return all
  const folder = '/'
  const { low, high } = idBounds(folder, range.conditions)
  const at = (id: string) => Buffer.concat([prefix, Buffer.from(id.slice(folder.length))])
  return { low: at(low), high: high.startsWith(folder) ? at(high) : all.high }
}

/** What an entry of an index with `fields` fields leads to. */
export function stepAt(key: Buffer, fields: number, { isSorted, sortedFields }: Access): Step {
  const ends = valueEnds(key, fields)
  const id = key.toString('utf8', ends.at(-1))
  return { key, id, run: isSorted ? runOf(key, ends, sortedFields) : undefined }
}

/** The bytes of an entry up to where its order ends: the last field sorted by, or the first that may have been cut. */
function runOf(key: Buffer, ends: readonly number[], sortedFields: number | undefined): string | undefined {
  let begin = 4
  for (const [i, end] of ends.entries()) {
    if (i + 1 === sortedFields || mayBeCut(key.subarray(begin, end))) return key.toString('latin1', 0, end)
    begin = end
  }
  return undefined
}

/** The encoded values at which a sorted stretch continues, up to the first that may have been cut. */
function sortedValues(access: Access, query: Query, start: Place | undefined): readonly Buffer[] {
  if (start === undefined || !access.isSorted) return []
  const sort = orderOf(query).fields.map(({ field }) => field)
  const fields = access.index!.fields.slice(access.equal.length, access.sortedFields)
  const values = fields.map(field => encodeIndexValue(start.values[sort.indexOf(field)]))
  const cut = values.findIndex(mayBeCut)
  return cut === -1 ? values : values.slice(0, cut + 1)
}

/** The range includes entries at the place itself: their values decide whether they come after the cursor. */
function beginAt({ low, high }: EntryRange, place: Buffer, isDescending: boolean): EntryRange {
  return isDescending ? { low, high: earlier(high, entriesUnder(place).high) } : { low: later(low, place), high }
}

/** Keys from `low` to `high`, which is excluded; as narrow as is simple. */
export function idBounds(
  folder: string,
  conditions: readonly Condition[],
): { readonly low: string; readonly high: string } {
  let low = folder
  let high = `${folder.slice(0, -1)}0`
  const raise = (id: unknown) => {
    if (typeof id === 'string' && !isTooLong(folder + id) && compareUtf8(folder + id, low) > 0) low = folder + id
  }
  const lower = (id: unknown) => {
    const end = folder + id
    if (typeof id === 'string' && !isTooLong(end) && compareUtf8(end, high) < 0) high = end
  }
  for (const { $eq, $in, $gt, $gte, $lt, $lte, $prefix } of conditions) {
    const among = [...($in ?? []), ...($eq === undefined ? [] : [$eq])].filter(id => typeof id === 'string')
    among.sort(compareUtf8)
    for (const id of [$gt, $gte, $prefix, among[0]]) raise(id)
    lower($lt)
    // The least text that is greater.
    for (const id of [$lte, among.at(-1)]) if (id !== undefined) lower(`${id}\0`)
    if ($prefix) lower(textAfter($prefix))
  }
  return { low, high }
}

/** The least text that comes after every text with this prefix; undefined if no text does. */
export function textAfter(prefix: string): string | undefined {
  const points = [...prefix]
  while (points.at(-1) === '\u{10ffff}') points.pop()
  const last = points.pop()?.codePointAt(0)
  if (last === undefined) return undefined
  // Skips the surrogates, which are no characters.
  return points.join('') + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1)
}
