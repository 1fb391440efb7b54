/**
 * An export to a file: to FILE.part until it is complete, then to FILE. An export that was begun before is continued if it has
 * the same log and the same choice of buckets; an export of one state, only if it is of this state. Otherwise it starts over.
 * CSV has no room for a head, so while there is a FILE.part, the head is in FILE.part.head.
 */
import { access, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { FreshetError } from '@freshet/protocol'
import { LineWriter } from '../transfer/line-writer.js'
import { chooseOne, exportCsv, findBegunCsv } from './export-csv.js'
import { type ExportOptions, exportNdjson, findBegun, headOf, isGoneOnWith } from './export-ndjson.js'

export interface Exported {
  readonly objects: number
  readonly sha256: string
}

/** Throws CONFIG_INVALID if the file exists. */
export async function exportToFile(out: string, format: 'ndjson' | 'csv', options: ExportOptions): Promise<Exported> {
  await refuseExisting(out)
  const part = `${out}.part`
  const { writer, objects } = await (format === 'csv' ? writeCsv(part, options) : writeNdjson(part, options))
  const sha256 = writer.digest()
  await writer.close()
  if (format === 'csv') await writeFile(`${out}.sha256`, `${sha256}  ${basename(out)}\n`, { mode: 0o600 })
  await rename(part, out)
  await rm(headPath(part), { force: true })
  return { objects, sha256 }
}

async function writeNdjson(part: string, options: ExportOptions) {
  const begun = (await isThere(part)) ? await findBegun(part, options) : undefined
  return writing(begun?.writer ?? (await startOver(part)), writer => exportNdjson(writer, options, begun))
}

async function writeCsv(part: string, options: ExportOptions) {
  const bucket = await chooseOne(options)
  const ofBucket = { ...options, buckets: bucket.name }
  const isOurs = (await isThere(part)) && isGoneOnWith(await readHead(part), ofBucket)
  const begun = isOurs ? await findBegunCsv(part, bucket) : undefined
  if (begun === undefined) await writeFile(headPath(part), headOf(ofBucket), { mode: 0o600 })
  return writing(begun?.writer ?? (await startOver(part)), writer => exportCsv(writer, bucket, options, begun))
}

function headPath(part: string): string {
  return `${part}.head`
}

async function readHead(part: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return JSON.parse(await readFile(headPath(part), 'utf8')) as Record<string, unknown>
  } catch {
    // Missing or cut off: there is nothing to continue.
    return {}
  }
}

/** Replaces the file if it exists. */
async function startOver(part: string): Promise<LineWriter> {
  await rm(part, { force: true })
  return LineWriter.create(part)
}

/** Lines that were not flushed at a failure are written again when the export continues. */
async function writing(writer: LineWriter, write: (writer: LineWriter) => Promise<number>) {
  try {
    const objects = await write(writer)
    await writer.sync()
    return { writer, objects }
  } catch (error) {
    await writer.flush().catch(() => undefined)
    await writer.close()
    throw error
  }
}

async function refuseExisting(out: string): Promise<void> {
  if (!(await isThere(out))) return
  throw new FreshetError('CONFIG_INVALID', `${out} already exists. Remove it, or choose another name with --out.`)
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
