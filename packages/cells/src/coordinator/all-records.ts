/** All records of all nodes, key by key. Repairs, collections and changes of the layout go through them. */
import type { Key } from '@freshet/core/store'
import { compareUtf8 } from '@freshet/protocol'
import { isOwnBucket } from '../layout/cells-layout.js'
import type { NodeEntry, NodePage } from '../nodes/node.js'
import type { CellRecord } from '../records/index.js'
import type { NodeLine } from './node-line.js'
import { decodeRecord } from './record-text.js'

/** The record that each node has of a key. Nodes that are missing in the map have none. */
export interface FoundRecords {
  readonly key: Key
  readonly records: ReadonlyMap<string, { readonly version: number; readonly record: CellRecord }>
}

/** Begins after this key, for example where an earlier walk stopped. */
export interface WalkStart {
  readonly after?: Key
}

const PAGE = 200

/** Goes through the records in the order of keys. Fails if one of these nodes fails. */
export async function* allRecords(
  lines: readonly NodeLine[],
  epoch: number,
  { after }: WalkStart = {},
): AsyncGenerator<FoundRecords> {
  for (const bucket of await bucketsOn(lines)) {
    const isBegun = after?.startsWith(`${bucket}/`) === true
    if (!isBegun && after !== undefined && compareUtf8(`${bucket}/`, after) < 0) continue
    yield* recordsIn(bucket, lines, epoch, isBegun ? after.slice(bucket.length + 1) : undefined)
  }
}

export async function bucketsOn(lines: readonly NodeLine[]): Promise<readonly Key[]> {
  const buckets = (await Promise.all(lines.map(line => line.buckets()))).flat()
  return [...new Set(buckets)].filter(bucket => !isOwnBucket(bucket)).sort((a, b) => compareUtf8(`${a}/`, `${b}/`))
}

async function* recordsIn(
  bucket: Key,
  lines: readonly NodeLine[],
  epoch: number,
  start: string | undefined,
): AsyncGenerator<FoundRecords> {
  for (let after = start; ; ) {
    const range = { limit: PAGE, ...(after === undefined ? {} : { after }) }
    const pages = await Promise.all(
      lines.map(async line => [line.name, await line.scan(bucket, range, epoch)] as const),
    )
    const ends = pages.flatMap(([, { next }]) => next ?? [])
    const end = ends.length === 0 ? undefined : ends.reduce((a, b) => (compareUtf8(a, b) <= 0 ? a : b))
    const isCovered = ({ id }: NodeEntry) => end === undefined || compareUtf8(id, end) <= 0
    for (const [id, records] of byId(pages, isCovered)) yield { key: `${bucket}/${id}`, records }
    if (end === undefined) return
    after = end
  }
}

function byId(pages: readonly (readonly [string, NodePage])[], isCovered: (entry: NodeEntry) => boolean) {
  const found = new Map<string, Map<string, { readonly version: number; readonly record: CellRecord }>>()
  for (const [name, { entries }] of pages) {
    for (const entry of entries.filter(isCovered)) {
      const records = found.get(entry.id) ?? new Map()
      records.set(name, { version: entry.version, record: decodeRecord(entry.body) })
      found.set(entry.id, records)
    }
  }
  return [...found].sort(([a], [b]) => compareUtf8(a, b))
}
