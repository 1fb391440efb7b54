/**
 * `freshet export`: to a file, or to standard output. Killed, stopped or out of space, the same command goes on, or begins anew where what was
 * begun is of another state; where it cannot, there is no file.
 */

import { createHash } from 'node:crypto'
import { isEngine } from '../config/store-kind.js'
import { openState } from '../places/open-store.js'
import { type LongRun, untilStopped } from '../terminal/until-stopped.js'
import { ServerCalls } from '../transfer/server-calls.js'
import { chooseOne, exportCsv } from './export-csv.js'
import { type Exported, exportToFile } from './export-file.js'
import type { ExportLine } from './export-line.js'
import { type ExportOptions, exportNdjson, type LineTarget } from './export-ndjson.js'
import { type ExportSource, sourceOfServer, sourceOfStore } from './export-source.js'

export function runExport(line: ExportLine): Promise<number> {
  const whenStopped =
    line.out === undefined ? 'Stopped. What was written is cut off.' : 'Stopped. The same command goes on from here.'
  // Where the objects are on standard output, nothing else is.
  return untilStopped({ whenStopped, isJson: line.isJson && line.out !== undefined }, async run => {
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
  return exportToFile(out, format, options)
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
