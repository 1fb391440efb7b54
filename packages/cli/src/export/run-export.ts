/**
 * `freshet export`: to FILE.part until it is whole, then to FILE. Killed, stopped or out of space, the same command goes on; where it
 * cannot, there is no FILE.
 */

import { createHash } from 'node:crypto'
import { access, rename, rm, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { FreshetError } from '@freshet/protocol'
import { type LongRun, untilStopped } from '../command/until-stopped.js'
import { isEngine } from '../config/store-kind.js'
import { LineWriter } from '../transfer/line-writer.js'
import { openState } from '../transfer/place.js'
import { ServerCalls } from '../transfer/server-calls.js'
import { chooseOne, exportCsv, findBegunCsv } from './export-csv.js'
import type { ExportLine } from './export-line.js'
import { type ExportOptions, exportNdjson, findBegun, type LineTarget } from './export-ndjson.js'
import { type ExportSource, sourceOfServer, sourceOfStore } from './export-source.js'

interface Exported {
  readonly objects: number
  readonly sha256: string
}

export function runExport(line: ExportLine): Promise<number> {
  const stopped =
    line.out === undefined ? 'Stopped. What was written is cut off.' : 'Stopped. The same command goes on from here.'
  return untilStopped(stopped, async run => {
    const source = await openSource(line)
    try {
      const exported = await exportTo(line, source, run)
      run.progress.clear()
      tell(line, source, exported)
      return 0
    } finally {
      await source.close()
    }
  })
}

async function openSource({ from }: ExportLine): Promise<ExportSource> {
  if ('url' in from) return sourceOfServer(ServerCalls.to(from.url))
  return sourceOfStore(await openState(from), !isEngine(from.store))
}

async function exportTo(line: ExportLine, source: ExportSource, { signal, progress }: LongRun): Promise<Exported> {
  const { out, buckets, format } = line
  const onProgress = (done: number, at: string) => progress.show({ what: 'exporting', done, at })
  const options: ExportOptions = { source, buckets, signal, onProgress }
  if (out === undefined) {
    const target = standardOutput()
    const objects =
      format === 'csv'
        ? await exportCsv(target, await chooseOne(options), options)
        : await exportNdjson(target, options)
    return { objects, sha256: target.digest() }
  }
  await refuseExisting(out)
  const part = `${out}.part`
  const { writer, objects } =
    format === 'csv' ? await writeCsv(part, options) : await writeNdjson(part, buckets, options)
  const sha256 = writer.digest()
  await writer.close()
  if (format === 'csv') await writeFile(`${out}.sha256`, `${sha256}  ${basename(out)}\n`)
  await rename(part, out)
  return { objects, sha256 }
}

async function writeNdjson(part: string, buckets: string | undefined, options: ExportOptions) {
  const begun = (await isThere(part)) ? await findBegun(part, options.source, buckets) : undefined
  return writing(begun?.writer ?? (await beginAnew(part)), writer => exportNdjson(writer, options, begun))
}

async function writeCsv(part: string, options: ExportOptions) {
  const bucket = await chooseOne(options)
  const begun = (await isThere(part)) ? await findBegunCsv(part, bucket) : undefined
  return writing(begun?.writer ?? (await beginAnew(part)), writer => exportCsv(writer, bucket, options, begun))
}

/** In place of what may be there. */
async function beginAnew(part: string): Promise<LineWriter> {
  await rm(part, { force: true })
  return LineWriter.create(part)
}

/** What was not flushed when it failed is done again by whoever goes on. */
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

function standardOutput(): LineTarget {
  const hash = createHash('sha256')
  return {
    digest: () => hash.copy().digest('hex'),
    async write(line) {
      hash.update(`${line}\n`)
      if (!process.stdout.write(`${line}\n`)) await new Promise(resolve => process.stdout.once('drain', resolve))
    },
  }
}

async function refuseExisting(out: string): Promise<void> {
  if (!(await isThere(out))) return
  throw new FreshetError('CONFIG_INVALID', `${out} is there already. Remove it, or choose another name with --out.`)
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function tell(
  { out, isJson }: ExportLine,
  { position, isOneState }: ExportSource,
  { objects, sha256 }: Exported,
): void {
  const write = out === undefined ? console.error : console.log
  if (isJson) write(JSON.stringify({ objects, sha256, position, isOneState, ...(out === undefined ? {} : { out }) }))
  else {
    write(
      `${objects} objects exported${out === undefined ? '' : ` to ${out}`}${isOneState ? `, as they were at position ${position}` : ', each page as it was when it was read'}.`,
    )
  }
}
