/**
 * The content of an imported file, line by line: an export, other NDJSON, or CSV. An exported file is verified as a whole before
 * anything is done with it: its end, its count and its digest.
 */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { type BucketSettings, FreshetError, isExactNumber, type Key } from '@freshet/protocol'
import { parseJsonTree } from '@freshet/server/configuration'
import { EXPORT_FORMAT } from '../export/export-ndjson.js'
import { CsvRecords, fieldOf, ID_COLUMN, jsonOfCell, splitCsv } from '../transfer/csv.js'
import { LineReader, STANDARD_INPUT } from '../transfer/line-reader.js'
import { JSON_TYPE, type ObjectLine, readLine, reasonOf } from '../transfer/object-lines.js'

/** `line` is the number of its first line. */
export type FileLine = { readonly line: number } & (
  | { readonly kind: 'object'; readonly object: ObjectLine }
  | { readonly kind: 'settings'; readonly bucket: Key; readonly settings: string }
  | { readonly kind: 'bad'; readonly reason: string }
)

export interface FileOptions {
  readonly path: string
  readonly format: 'ndjson' | 'csv'
  readonly bucket: string | undefined
  readonly id: string
  readonly text: readonly string[]
  /** The kind of the bucket that CSV goes to. */
  readonly kind: BucketSettings['kind']
}

interface End {
  readonly objects: number
  readonly sha256: string
}

/**
 * Returns how many lines the file has; undefined for standard input, which is checked after it has been read. Throws
 * FILE_INVALID.
 */
export async function checkFile({ path, format }: FileOptions): Promise<number | undefined> {
  if (path === STANDARD_INPUT) return undefined
  const reader = new LineReader(path)
  const check = new EndCheck(reader)
  for await (const line of reader.lines()) if (format === 'ndjson') check.see(line)
  if (format === 'ndjson') check.end()
  else await checkDigest(path, reader)
  return reader.number
}

async function checkDigest(path: string, reader: LineReader): Promise<void> {
  const text = await readFile(`${path}.sha256`, 'utf8').catch(() => undefined)
  const [, sha256, name] = /^([0-9a-f]{64}) [ *](.*)$/m.exec(text ?? '') ?? []
  if (sha256 === undefined || name !== basename(path) || (sha256 === reader.digest() && reader.isWhole)) return
  throw new FreshetError(
    'FILE_INVALID',
    `${path} does not match ${path}.sha256: it was cut off or changed. Export it again, or remove ${path}.sha256 if you changed it.`,
  )
}

/** Checks that an exported file is complete. Other files have no head, and are not checked. */
class EndCheck {
  readonly #reader: LineReader
  #isExport = false
  #objects = 0
  #isEnded = false

  constructor(reader: LineReader) {
    this.#reader = reader
  }

  see(line: string): void {
    if (this.#reader.number === 1) this.#isExport = /^\{"freshet":"export"/.test(line)
    if (!this.#isExport) return
    if (this.#isEnded) throw this.#reader.invalid('there are lines after the end of the export')
    if (line.startsWith('{"end":')) this.#check(line)
    else if (/^\{"bucket":"[^"]+","id":/.test(line)) this.#objects++
  }

  end(): void {
    if (!this.#isExport || this.#isEnded) return
    throw this.#reader.invalid('the export is cut off here: its end is missing. Export it again')
  }

  #check(line: string): void {
    const { objects, sha256 } = (JSON.parse(line) as { end: End }).end
    if (sha256 !== this.#reader.digest()) {
      throw this.#reader.invalid('the lines before it have changed since they were exported. Export it again')
    }
    if (objects !== this.#objects) throw this.#reader.invalid(`there are ${this.#objects} objects, not ${objects}`)
    this.#isEnded = true
  }
}

export async function* readImportedFile(options: FileOptions): AsyncGenerator<FileLine> {
  const reader = new LineReader(options.path)
  yield* options.format === 'csv' ? readCsv(reader, options) : readNdjson(reader, options)
}

async function* readNdjson(reader: LineReader, options: FileOptions): AsyncGenerator<FileLine> {
  const check = new EndCheck(reader)
  for await (const text of reader.lines()) {
    const line = reader.number
    if (options.path === STANDARD_INPUT) check.see(text)
    if (text.trim() === '') continue
    try {
      const read = readNdjsonLine(text, line, options)
      if (read !== undefined) yield { line, ...read }
    } catch (error) {
      yield { line, kind: 'bad', reason: reasonOf(error) }
    }
  }
  if (options.path === STANDARD_INPUT) check.end()
}

type Read = FileLine extends infer Each ? (Each extends { readonly line: number } ? Omit<Each, 'line'> : never) : never

function readNdjsonLine(text: string, line: number, { bucket, id }: FileOptions): Read | undefined {
  const read = readLine(text)
  if (read.kind === 'settings') return read
  if (read.kind === 'object') return { kind: 'object', object: read }
  if (read.kind !== 'other') throw new Error('it is a line of a backup: use freshet restore')
  const { freshet, format, end } = read.value
  if (freshet === 'export' && line === 1) {
    if (format === EXPORT_FORMAT) return undefined
    throw new Error(
      `the export has format ${format}, and this version of Freshet reads format ${EXPORT_FORMAT}. Update Freshet`,
    )
  }
  if (freshet === 'backup') throw new Error('it is a backup: use freshet restore')
  if (end !== undefined && bucket === undefined) return undefined
  return { kind: 'object', object: plainObject(text, read.value, bucket, id) }
}

/** An object that no export wrote, with its id among its members. */
function plainObject(
  text: string,
  value: Readonly<Record<string, unknown>>,
  bucket: string | undefined,
  idName: string,
): ObjectLine {
  if (bucket === undefined) throw new Error('it names no bucket. Add --bucket shop/products')
  const id = Object.hasOwn(value, idName) ? value[idName] : undefined
  if (typeof id !== 'string' && typeof id !== 'number')
    throw new Error(`it has no member ${JSON.stringify(idName)}, which should be its id`)
  const spelled = typeof id === 'number' ? parseJsonTree(text, 1).members!.get(idName)!.text : '0'
  if (!isExactNumber(spelled)) throw new Error(`its id, ${spelled}, would be rounded. Write it as text`)
  return { kind: 'object', bucket, id: `${id}`, contentType: JSON_TYPE, body: Buffer.from(text) }
}

async function* readCsv(reader: LineReader, options: FileOptions): AsyncGenerator<FileLine> {
  let columns: readonly string[] | undefined
  const records = new CsvRecords()
  let line = 0
  for await (const text of reader.lines({ keepsReturns: true })) {
    if (!records.isOpen) line = reader.number
    const whole = records.take(text)
    if (whole === undefined || whole.trim() === '') continue
    if (columns === undefined) {
      columns = readColumns(whole, reader, options)
      continue
    }
    try {
      yield { line, kind: 'object', object: csvObject(splitCsv(whole), columns, options) }
    } catch (error) {
      yield { line, kind: 'bad', reason: reasonOf(error) }
    }
  }
  if (records.isOpen) yield { line, kind: 'bad', reason: 'a quote is not closed' }
}

function readColumns(text: string, reader: LineReader, { id }: FileOptions): readonly string[] {
  const columns = splitCsv(text.replace(/^\uFEFF/, ''))
  const twice = columns.find((column, i) => columns.indexOf(column) !== i)
  if (twice !== undefined) throw reader.invalid(`two columns are called ${JSON.stringify(twice)}`)
  if (!columns.includes(id)) {
    throw reader.invalid(`no column is called ${JSON.stringify(id)}. Name the id's column, such as --id ${columns[0]}`)
  }
  return columns
}

function csvObject(cells: readonly string[], columns: readonly string[], options: FileOptions): ObjectLine {
  if (cells.length !== columns.length) throw new Error(`it has ${cells.length} cells for ${columns.length} columns`)
  const id = cells[columns.indexOf(options.id)]!
  if (id === '') throw new Error('its id is empty')
  const shared = { kind: 'object', bucket: options.bucket!, id } as const
  const cellIn = (column: string) => cells[columns.indexOf(column)]
  if (options.kind === 'kv') {
    const [contentType, base64] = [cellIn('contentType'), cellIn('base64')]
    if (!contentType || base64 === undefined) throw new Error('it needs the columns contentType and base64')
    return { ...shared, contentType, body: Buffer.from(base64, 'base64') }
  }
  const value = options.kind === 'counter' ? cellIn('value') : jsonOf(cells, columns, options)
  if (!value) throw new Error('it needs the column value')
  return { ...shared, contentType: JSON_TYPE, body: Buffer.from(value) }
}

function jsonOf(cells: readonly string[], columns: readonly string[], { text }: FileOptions): string {
  const members = columns.flatMap((column, i) => {
    const json = column === ID_COLUMN ? undefined : jsonOfCell(cells[i]!, text.includes(column))
    return json === undefined ? [] : [`${JSON.stringify(fieldOf(column))}:${json}`]
  })
  return `{${members.join(',')}}`
}
