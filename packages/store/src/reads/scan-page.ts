/** One page of a bucket, from one state. */
import {
  isBeyond,
  isWithin,
  type Key,
  type ScanPage,
  type ScanRange,
  type StoredEntry,
  type StoredValue,
} from '@freshet/core/store'
import type { View } from '../engine/engine.js'
import { keyRange, scanBounds } from './key-range.js'

const VALUES_PER_READ = 1000
/** If the filter left too few, the next read is this many times as large. */
const GROWTH = 4

/** Whether the view is read only once. */
export function isOneRead({ filter }: ScanRange, limit: number): boolean {
  return filter === undefined && limit < VALUES_PER_READ
}

export async function scanPage(view: View, bucket: Key, range: ScanRange, limit: number): Promise<ScanPage> {
  const folder = `${bucket}/`
  const entries: StoredEntry[] = []
  let { low, high } = scanBounds(folder, range)
  for (let size = Math.min(limit + 1, VALUES_PER_READ); ; size = Math.min(size * GROWTH, VALUES_PER_READ)) {
    const { values, version, position } = await view.page(bucket, keyRange(low, high, size))
    for (const value of values) {
      const id = value.key.slice(folder.length)
      if (isBeyond(id, range)) return { entries, version, position }
      const last = entries.at(-1)
      if (last !== undefined && entries.length === limit) return { entries, next: last.id, version, position }
      const entry = entryOf(id, value)
      if (isWithin(id, range) && (range.filter?.(entry) ?? true)) entries.push(entry)
    }
    if (values.length < size) return { entries, version, position }
    low = { key: values.at(-1)!.key, isIncluded: false }
  }
}

/** Names each property: a spread takes longer than reading the value. */
export function entryOf(id: string, { version, contentType, body }: StoredValue): StoredEntry {
  return { id, version, contentType, body }
}
