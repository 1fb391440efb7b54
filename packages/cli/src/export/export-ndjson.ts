/**
 * An export as lines of JSON: a head, buckets with their settings, their objects, and an end with the number of objects and the
 * SHA-256 digest of all lines before it. `transfer/object-lines.ts` draws the lines between.
 *
 *     {"freshet":"export","format":1,"log":"0c9f...","position":1763300000000,"buckets":"shop/*"}
 *     {"end":{"objects":3000,"sha256":"9b1c..."}}
 *
 * An export that did not reach its end is continued after its last complete line.
 */
import type { Key } from '@freshet/protocol'
import { chooseBuckets } from '../transfer/chosen-buckets.js'
import { LineReader } from '../transfer/line-reader.js'
import { LineWriter } from '../transfer/line-writer.js'
import { type DataLine, objectLine, readLine } from '../transfer/object-lines.js'
import type { ExportedBucket, ExportSource } from './export-source.js'

export const EXPORT_FORMAT = 1

export interface ExportOptions {
  readonly source: ExportSource
  readonly buckets: string | undefined
  readonly onProgress: (objects: number, bucket: Key) => void
  readonly signal: AbortSignal
}

/** Takes lines, one by one. */
export interface LineTarget {
  write(line: string): Promise<void>
  digest(): string
}

/** How far an earlier export has come. */
export interface Begun {
  readonly writer: LineWriter
  readonly objects: number
  readonly last?: { readonly bucket: Key; readonly id?: string } | undefined
}

/** Returns how many objects the export has. */
export async function exportNdjson(target: LineTarget, options: ExportOptions, begun?: Begun): Promise<number> {
  const { source, buckets } = options
  const chosen = chooseBuckets(await source.buckets(), buckets)
  if (begun === undefined) await target.write(headOf(options))
  const last = begun?.last
  let objects = begun?.objects ?? 0
  for (const bucket of chosen) {
    if (last !== undefined && bucket.name < last.bucket) continue
    const isGoingOn = bucket.name === last?.bucket
    if (!isGoingOn) await target.write(JSON.stringify({ bucket: bucket.name, settings: bucket.settings }))
    objects = await exportBucket(target, bucket, isGoingOn ? last?.id : undefined, objects, options)
  }
  await target.write(JSON.stringify({ end: { objects, sha256: target.digest() } }))
  return objects
}

async function exportBucket(
  target: LineTarget,
  bucket: ExportedBucket,
  begin: string | undefined,
  before: number,
  { source, onProgress, signal }: ExportOptions,
): Promise<number> {
  const spelling = bucket.settings.kind === 'kv' ? 'exact' : 'readable'
  let objects = before
  for (let after = begin, isEnd = false; !isEnd; ) {
    signal.throwIfAborted()
    const { items, next } = await source.page(bucket, after)
    for (const { id, ...content } of items) await target.write(objectLine(bucket.name, id, content, spelling))
    objects += items.length
    onProgress(objects, bucket.name)
    isEnd = next === undefined
    after = next
  }
  return objects
}

export function headOf({ source: { log, position }, buckets }: Pick<ExportOptions, 'source' | 'buckets'>): string {
  return JSON.stringify({
    freshet: 'export',
    format: EXPORT_FORMAT,
    log,
    position,
    ...(buckets === undefined ? {} : { buckets }),
  })
}

/** Whether an export with this head has the same data; for an export of one state, also the same state. */
export function isGoneOnWith(
  head: Readonly<Record<string, unknown>>,
  { source, buckets }: Pick<ExportOptions, 'source' | 'buckets'>,
): boolean {
  const { freshet, format, log, position, buckets: chosen } = head
  if (freshet !== 'export' || format !== EXPORT_FORMAT || log !== source.log || chosen !== buckets) return false
  return !source.isOneState || position === source.position
}

/** Undefined if there is nothing to continue, or it is a different export. */
export async function findBegun(path: string, options: ExportOptions): Promise<Begun | undefined> {
  const reader = new LineReader(path)
  let objects = 0
  let last: Begun['last']
  for await (const text of reader.lines()) {
    if (!reader.isWhole) break
    const line = readLineOrNone(text)
    if (line === undefined) return undefined
    if (line.kind === 'other') {
      if (reader.number !== 1 || !isGoneOnWith(line.value, options)) return undefined
    } else if (line.kind === 'object') {
      objects++
      last = { bucket: line.bucket, id: line.id }
    } else last = { bucket: line.bucket }
  }
  if (reader.bytes === 0) return undefined
  return { writer: await LineWriter.goOn(path, reader.bytes, reader.hash()), objects, last }
}

function readLineOrNone(text: string): DataLine | undefined {
  try {
    return readLine(text)
  } catch {
    return undefined
  }
}
