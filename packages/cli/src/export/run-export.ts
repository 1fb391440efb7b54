/**
 * `freshet export`: to a file, or to standard output. If it was killed or stopped, or ran out of space, the same command
 * continues, or starts over if what was written is of another state. There is no file until the export is complete.
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
    line.out === undefined
      ? 'Stopped. The output is incomplete.'
      : 'Stopped. Run the same command to continue from here.'
  // If the objects go to standard output, nothing else does.
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
      `${objects} objects exported${out === undefined ? '' : ` to ${out}`}${isOneState ? `, as of position ${position}` : ', each page as of when it was read'}.`,
    )
  }
}
