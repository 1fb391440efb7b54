/** `freshet check FILES...`: 0 if every promise was kept, 1 if one was broken, 2 if a recording cannot be read. */
import { statSync } from 'node:fs'
import { formatViolation, HistoryChecker, type HistorySummary, type Violation } from '@freshet/core/history'
import { FreshetError } from '@freshet/protocol'
import { ProgressLine } from '../terminal/progress.js'
import { tellFailure } from '../terminal/tell-failure.js'
import type { CheckLine } from './check-line.js'
import { followRecording } from './follow-recording.js'
import { mergeRecordings } from './merged-recordings.js'
import { readRecording } from './recording-lines.js'
import { summaryText } from './summary-text.js'

const EXIT_KEPT = 0
const EXIT_BROKEN = 1
const EXIT_INVALID = 2

export async function checkRecordings(line: CheckLine): Promise<number> {
  try {
    const summary = line.followMs === undefined ? await check(line) : await followRecording(line, line.followMs)
    return summary.brokenReads === 0 ? EXIT_KEPT : EXIT_BROKEN
  } catch (error) {
    if (!(error instanceof FreshetError) || error.code !== 'RECORDING_INVALID') throw error
    tellFailure(error, line.isJson)
    return EXIT_INVALID
  }
}

async function check({ files, isJson, isComplete, tracesMax }: CheckLine): Promise<HistorySummary> {
  const first: Violation[] = []
  const checker = new HistoryChecker({
    isComplete,
    onViolation: violation => {
      if (first.length < tracesMax) first.push(violation)
    },
  })
  const progress = new ReadBytes(files)
  const recordings = files.map(path => readRecording(path, bytes => progress.add(bytes)))
  for await (const records of mergeRecordings(recordings)) {
    for (const record of records) checker.add(record)
  }
  progress.end()
  const summary = checker.finish()
  if (summary.lines === 0)
    throw new FreshetError('RECORDING_INVALID', `${files.join(', ')}: the recording has no lines.`)
  const traces = first.map(formatViolation)
  process.stdout.write(isJson ? `${JSON.stringify({ ...summary, first })}\n` : text(summary, traces))
  return summary
}

function text(summary: HistorySummary, traces: readonly string[]): string {
  const head = traces.length === 0 ? '' : `${traces.join('\n\n')}\n\n`
  return `${head}${summaryText(summary)}`
}

/** Shows progress in megabytes. */
class ReadBytes {
  readonly #line = new ProgressLine()
  readonly #total: number | undefined
  #bytes = 0

  constructor(files: readonly string[]) {
    const sizes = files.map(path => (path === '-' ? undefined : statSync(path, { throwIfNoEntry: false })?.size))
    const total = sizes.includes(undefined) ? undefined : sizes.reduce<number>((sum, size) => sum + size!, 0)
    this.#total = total === undefined ? undefined : Math.ceil(total / 1e6)
  }

  add(bytes: number): void {
    this.#bytes += bytes
    this.#line.show({ what: 'checking, MB', done: Math.floor(this.#bytes / 1e6), total: this.#total })
  }

  end(): void {
    this.#line.clear()
  }
}
