/**
 * `freshet import`. A line that is refused is reported with its file and number, and the import continues. A line that refers to
 * one later in the file is tried again after the end.
 */
import type { FreshetError, Key } from '@freshet/protocol'
import { readFormat } from '../export/export-line.js'
import { openNamedStore } from '../places/open-store.js'
import { EXIT_FAILED, type LongRun, untilStopped } from '../terminal/until-stopped.js'
import { readChoice } from '../transfer/chosen-buckets.js'
import { STANDARD_INPUT } from '../transfer/line-reader.js'
import { reasonOf } from '../transfer/object-lines.js'
import { ServerCalls } from '../transfer/server-calls.js'
import type { ImportLine } from './import-line.js'
import { checkFile, type FileOptions, readImportedFile } from './imported-file.js'
import { type ImportTally, ObjectImporter } from './object-importer.js'

const REFUSED_SHOWN = 100

interface ImportReport extends ImportTally {
  readonly isDryRun: boolean
  readonly buckets: readonly Key[]
  readonly refused: readonly { readonly file: string; readonly line: number; readonly reason: string }[]
}

export function runImport(line: ImportLine): Promise<number> {
  return untilStopped(
    { whenStopped: 'Stopped. Run the same command to continue from here.', isJson: line.isJson },
    async run => {
      const files: { readonly options: FileOptions; readonly lines: number | undefined }[] = []
      for (const path of line.files) {
        const { bucket, id, text } = line
        const options = { path, format: readFormat(line.format, path), bucket, id, text, kind: 'object' as const }
        files.push({ options, lines: await checkFile(options) })
      }
      const { to } = line
      const calls =
        'url' in to
          ? ServerCalls.to(to.url)
          : await ServerCalls.over(await openNamedStore(to.store, warning => console.error(warning)))
      try {
        const importing = new Importing(line, calls, run)
        await importing.begin()
        for (const { options, lines } of files) await importing.file(options, lines)
        run.progress.clear()
        return tell(importing.report(), line.isJson)
      } finally {
        await calls.close()
      }
    },
  )
}

class Importing {
  readonly #line: ImportLine
  readonly #run: LongRun
  readonly #importer: ObjectImporter
  readonly #isChosen: (bucket: Key) => boolean
  readonly #created: Key[] = []
  readonly #refused: { file: string; line: number; reason: string }[] = []
  /** Lines that were refused because an object they refer to does not exist yet. */
  #tooEarly = new Map<number, string>()
  #file = ''

  constructor(line: ImportLine, calls: ServerCalls, run: LongRun) {
    this.#line = line
    this.#run = run
    this.#isChosen = readChoice(line.buckets)
    const { existing, isDryRun } = line
    const onRefused = (number: number, error: FreshetError) => this.#onRefused(number, error)
    this.#importer = new ObjectImporter({ calls, existing, isDryRun, onRefused })
  }

  begin(): Promise<void> {
    return this.#importer.begin()
  }

  async file(options: FileOptions, lines: number | undefined): Promise<void> {
    this.#file = options.path
    const kind = options.bucket === undefined ? undefined : await this.#importer.kindOf(options.bucket)
    const complete = { ...options, kind: kind ?? options.kind }
    let waiting = await this.#pass(complete, lines, undefined)
    // Repeat as long as each pass imports some of them.
    while (waiting.size > 0 && options.path !== STANDARD_INPUT) {
      const still = await this.#pass(complete, lines, waiting)
      if (still.size === waiting.size) break
      waiting = still
    }
    for (const [line, reason] of waiting) this.#refused.push({ file: this.#file, line, reason })
  }

  report(): ImportReport {
    const refused = [...this.#refused].sort((a, b) => (a.file === b.file ? a.line - b.line : 0))
    return { isDryRun: this.#line.isDryRun, buckets: this.#created, ...this.#importer.tally, refused }
  }

  /** Reads all lines, or only some. */
  async #pass(
    options: FileOptions,
    total: number | undefined,
    only: ReadonlyMap<number, string> | undefined,
  ): Promise<ReadonlyMap<number, string>> {
    this.#tooEarly = new Map()
    for await (const each of readImportedFile(options)) {
      this.#run.signal.throwIfAborted()
      this.#run.progress.show({ what: 'importing', done: each.line, total, at: options.path })
      if (only !== undefined && !only.has(each.line)) continue
      if (each.kind === 'bad') this.#refused.push({ file: options.path, line: each.line, reason: each.reason })
      else if (each.kind === 'settings') await this.#bucket(each.line, each.bucket, each.settings)
      else if (this.#isChosen(each.object.bucket)) await this.#importer.add(each)
    }
    await this.#importer.flush()
    return this.#tooEarly
  }

  async #bucket(line: number, bucket: Key, settings: string): Promise<void> {
    if (!this.#isChosen(bucket)) return
    try {
      const outcome = await this.#importer.createBucket(bucket, settings)
      if (outcome === 'created') this.#created.push(bucket)
      if (outcome === 'different') {
        console.error(`${this.#file}:${line}: ${bucket} already exists with other settings, which are kept.`)
      }
    } catch (error) {
      const { details } = error as FreshetError
      if (typeof details?.status !== 'number' || details.status >= 500) throw error
      this.#refused.push({ file: this.#file, line, reason: reasonOf(error) })
    }
  }

  #onRefused(line: number, error: FreshetError): void {
    if (error.code === 'REFERENCE_MISSING') this.#tooEarly.set(line, reasonOf(error))
    else this.#refused.push({ file: this.#file, line, reason: reasonOf(error) })
  }
}

function tell(report: ImportReport, isJson: boolean): number {
  const { created, replaced, unchanged, kept, refused, buckets, isDryRun } = report
  for (const { file, line, reason } of refused.slice(0, REFUSED_SHOWN)) console.error(`${file}:${line}: ${reason}.`)
  if (refused.length > REFUSED_SHOWN)
    console.error(`... and ${refused.length - REFUSED_SHOWN} more. --json lists them all.`)
  if (isJson) console.log(JSON.stringify(report))
  else {
    const counts = [
      `${created} created`,
      `${replaced} replaced`,
      `${unchanged} unchanged`,
      ...(kept > 0 ? [`${kept} kept`] : []),
      ...(refused.length > 0 ? [`${refused.length} refused`] : []),
    ]
    const more = buckets.length === 0 ? '' : `; buckets created: ${buckets.join(', ')}`
    console.log(
      `${isDryRun ? 'Dry run: ' : ''}${counts.join(', ')}${more}.${isDryRun ? ' Schemas were not checked.' : ''}`,
    )
  }
  return refused.length > 0 ? EXIT_FAILED : 0
}
