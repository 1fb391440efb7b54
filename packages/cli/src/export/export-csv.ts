/**
 * One bucket as CSV. Its columns are the fields that its objects have, found by reading all of them once. FILE.sha256 is written
 * beside FILE, in the format of `sha256sum -c`.
 */
import { FreshetError } from '@freshet/protocol'
import { chooseBuckets } from '../transfer/chosen-buckets.js'
import { CsvRecords, cellOf, columnOf, csvLine, fieldOf, fieldsOf, ID_COLUMN, splitCsv } from '../transfer/csv.js'
import { LineReader } from '../transfer/line-reader.js'
import { LineWriter } from '../transfer/line-writer.js'
import type { Content } from '../transfer/object-lines.js'
import type { Begun, ExportOptions, LineTarget } from './export-ndjson.js'
import type { ExportedBucket } from './export-source.js'

const COLUMNS_MAX = 1000
const OF_BYTES = [ID_COLUMN, 'contentType', 'base64']
const OF_COUNTERS = [ID_COLUMN, 'value']

export interface BegunCsv extends Begun {
  readonly columns: readonly string[]
}

/** Throws CONFIG_INVALID unless exactly one bucket is chosen. */
export async function chooseOne({ source, buckets }: ExportOptions): Promise<ExportedBucket> {
  const chosen = chooseBuckets(await source.buckets(), buckets)
  if (chosen.length === 1) return chosen[0]!
  const names = chosen.map(({ name }) => name).join(', ') || 'none'
  throw new FreshetError(
    'CONFIG_INVALID',
    `CSV holds one bucket. Choose it with --buckets shop/products (there are: ${names}), or use NDJSON.`,
  )
}

export async function exportCsv(
  target: LineTarget,
  bucket: ExportedBucket,
  options: ExportOptions,
  begun?: BegunCsv,
): Promise<number> {
  const { source, onProgress, signal } = options
  const columns = begun?.columns ?? (await findColumns(bucket, options))
  if (begun === undefined) await target.write(csvLine(columns))
  let objects = begun?.objects ?? 0
  for (let after = begun?.last?.id, isEnd = false; !isEnd; ) {
    signal.throwIfAborted()
    const { items, next } = await source.page(bucket, after)
    for (const { id, ...content } of items) {
      // An object that was created or changed after the columns were found.
      const cells = cellsOf(bucket, id, content, columns)
      if (cells === undefined) throw newColumn(bucket, id)
      await target.write(csvLine(cells))
    }
    objects += items.length
    onProgress(objects, bucket.name)
    isEnd = next === undefined
    after = next
  }
  return objects
}

async function findColumns(bucket: ExportedBucket, { source, signal }: ExportOptions): Promise<readonly string[]> {
  const { kind } = bucket.settings
  if (kind !== 'object') return kind === 'kv' ? OF_BYTES : OF_COUNTERS
  const columns = new Set([ID_COLUMN])
  for (let after: string | undefined, isEnd = false; !isEnd; ) {
    signal.throwIfAborted()
    const { items, next } = await source.page(bucket, after)
    for (const { body } of items) for (const name of fieldsOf(textOf(body)).keys()) columns.add(columnOf(name))
    if (columns.size > COLUMNS_MAX) {
      throw new FreshetError('LIMIT_EXCEEDED', `${bucket.name} has more than ${COLUMNS_MAX} fields. Use NDJSON.`)
    }
    isEnd = next === undefined
    after = next
  }
  return [...columns]
}

function cellsOf(
  { settings: { kind } }: ExportedBucket,
  id: string,
  { contentType, body }: Content,
  columns: readonly string[],
): readonly string[] | undefined {
  if (kind === 'kv') return [id, contentType, Buffer.from(body).toString('base64')]
  if (kind === 'counter') return [id, textOf(body)]
  const fields = fieldsOf(textOf(body))
  if ([...fields.keys()].some(name => !columns.includes(columnOf(name)))) return undefined
  return [id, ...columns.slice(1).map(column => cellOf(fields.get(fieldOf(column))))]
}

function textOf(body: Uint8Array): string {
  return Buffer.from(body)
    .toString()
    .replaceAll(/[\r\n]+/g, ' ')
}

/** Undefined if there is nothing to continue. */
export async function findBegunCsv(path: string, bucket: ExportedBucket): Promise<BegunCsv | undefined> {
  const reader = new LineReader(path)
  let columns: readonly string[] | undefined
  let id: string | undefined
  let objects = 0
  const records = new CsvRecords()
  // Where the current record begins: if it is cut off, the export continues from there.
  let begin = { bytes: 0, hash: reader.hash() }
  for await (const line of reader.lines({ keepsReturns: true })) {
    if (!reader.isWhole) break
    const isFirst = !records.isOpen
    const record = records.take(line)
    if (isFirst && records.isOpen) begin = { bytes: reader.bytes, hash: reader.hash() }
    if (record === undefined) continue
    if (columns === undefined) columns = splitCsv(record)
    else {
      id = splitCsv(record)[0]
      objects++
    }
  }
  if (columns === undefined || columns[0] !== ID_COLUMN) return undefined
  const { bytes, hash } = records.isOpen ? begin : { bytes: reader.bytes, hash: reader.hash() }
  const writer = await LineWriter.goOn(path, bytes, hash)
  return { writer, columns, objects, last: id === undefined ? undefined : { bucket: bucket.name, id } }
}

function newColumn({ name }: ExportedBucket, id: string): FreshetError {
  return new FreshetError(
    'FILE_INVALID',
    `${name}/${id} has a field that no object had when the columns were found. Remove the .part file and run this again, or use NDJSON.`,
  )
}
