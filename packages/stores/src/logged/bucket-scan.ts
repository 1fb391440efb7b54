/**
 * One page of a bucket, from one state: rows first, then the log; what the log has beyond the rows goes over them. As long as that
 * leaves too few, more rows are read, and the log again.
 */
import {
  compareUtf8,
  isBeyond,
  isWithin,
  type Key,
  type ScanPage,
  type ScanRange,
  type StoredEntry,
  type StoredValue,
  scanLimit,
} from '@freshet/core/store'
import { bucketOfKey, idOfKey } from '@freshet/protocol'
import type { Engine } from './engine.js'
import type { LogRecord } from './log-record.js'
import type { LowId } from './parts.js'

const ROWS_PER_READ = 1000

export async function scanBucket(engine: Engine, bucket: Key, range: ScanRange): Promise<ScanPage> {
  const limit = scanLimit(range)
  return engine.pinned(async (pin, rows) => {
    const found: StoredEntry[] = []
    const size = Math.min(limit + 1, ROWS_PER_READ)
    let low = lowest(range)
    let passed = 0
    const versions = rows.buckets([bucket])
    for (;;) {
      const [page] = await Promise.all([rows.page(bucket, low, size), versions])
      found.push(...page)
      const last = page.at(-1)
      const isAll = last === undefined || page.length < size || isBeyond(last.id, range)
      passed += page.filter(entry => isWithin(entry.id, range) && (range.filter?.(entry) ?? true)).length
      if (isAll || passed > limit) {
        await engine.look()
        const records = pin.recordsSince()
        const merged = merge(found, changesOf(bucket, records), range, isAll ? undefined : last.id)
        const entries = firstOf(merged, limit, range, isAll)
        const version = versionIn(bucket, records) ?? (await versions).get(bucket) ?? 0
        if (entries !== undefined) return { ...entries, version, position: engine.state.position }
      }
      low = { id: last!.id, isIncluded: false }
    }
  })
}

function lowest({ from = '', after, prefix = '' }: ScanRange): LowId {
  const id = compareUtf8(from, prefix) > 0 ? from : prefix
  return after !== undefined && compareUtf8(after, id) >= 0
    ? { id: after, isIncluded: false }
    : { id, isIncluded: true }
}

/** What was written to a bucket, in the order of the log. */
function changesOf(bucket: Key, records: readonly LogRecord[]): ReadonlyMap<string, StoredValue | undefined> {
  const changes = new Map<string, StoredValue | undefined>()
  for (const { effects } of records) {
    for (const [key, value] of effects.objects) {
      const id = idOfKey(key)
      if (id !== undefined && bucketOfKey(key) === bucket) changes.set(id, value)
    }
  }
  return changes
}

function versionIn(bucket: Key, records: readonly LogRecord[]): number | undefined {
  return records.findLast(({ effects }) => effects.buckets.has(bucket))?.effects.buckets.get(bucket)
}

/** In order, all in the range; what comes after `through` is not known yet. */
function merge(
  rows: readonly StoredEntry[],
  changes: ReadonlyMap<string, StoredValue | undefined>,
  range: ScanRange,
  through: string | undefined,
): StoredEntry[] {
  const entries = new Map(rows.map(entry => [entry.id, entry]))
  for (const [id, value] of changes) {
    if (value === undefined) entries.delete(id)
    else entries.set(id, { id, ...value, body: Buffer.from(value.body) })
  }
  return [...entries.values()]
    .filter(({ id }) => isWithin(id, range) && (through === undefined || compareUtf8(id, through) <= 0))
    .sort((a, b) => compareUtf8(a.id, b.id))
}

/** Undefined: more must be looked at. */
function firstOf(
  merged: readonly StoredEntry[],
  limit: number,
  { filter }: ScanRange,
  isAll: boolean,
): Pick<ScanPage, 'entries' | 'next'> | undefined {
  const entries: StoredEntry[] = []
  for (const entry of merged) {
    const last = entries.at(-1)
    if (last !== undefined && entries.length === limit) return { entries, next: last.id }
    if (filter?.(entry) ?? true) entries.push(entry)
  }
  return isAll ? { entries } : undefined
}
