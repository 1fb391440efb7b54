/**
 * `freshet doctor --through URL`: what the caches between here and a server do, and what that means. Exit code 0: readers
 * are safe; 1: something is fatal or unsafe; 2: it could not be examined; 130: stopped. In every case the doctor removes the
 * objects that it wrote.
 */
import { FreshetError } from '@freshet/protocol'
import { ProgressLine } from '../terminal/progress.js'
import { watchStopSignals } from '../terminal/stop-signals.js'
import { tellFailure } from '../terminal/tell-failure.js'
import type { DoctorLine } from './doctor-line.js'
import { countOf, type Examination, PROBES } from './examine.js'
import { examineThrough } from './examine-through.js'
import { reportText } from './report-text.js'

const EXIT_WELL = 0
const EXIT_ILL = 1
const EXIT_NOT_EXAMINED = 2
const EXIT_STOPPED = 130

class Stopped extends Error {}

export async function runDoctor(line: DoctorLine): Promise<number> {
  const controller = new AbortController()
  const signals = watchStopSignals(() => process.exit(EXIT_STOPPED))
  signals.asked.then(() => controller.abort(new Stopped()))
  try {
    const examination = await examineWithProgress(line, controller.signal)
    const counts = countOf(examination.findings)
    process.stdout.write(
      line.isJson
        ? `${JSON.stringify({ through: line.through, isSafe: counts.fatal + counts.unsafe === 0, counts, ...examination })}\n`
        : reportText(line.through, examination),
    )
    return counts.fatal + counts.unsafe > 0 ? EXIT_ILL : EXIT_WELL
  } catch (error) {
    if (controller.signal.aborted) return EXIT_STOPPED
    if (!(error instanceof FreshetError)) throw error
    tellFailure(error, line.isJson)
    return EXIT_NOT_EXAMINED
  }
}

function examineWithProgress(line: DoctorLine, signal: AbortSignal): Promise<Examination> {
  let done = 0
  const onFound = () => void done++
  return new ProgressLine().during(
    () => ({ what: 'examining, while copies expire', done, total: PROBES.length }),
    () => examineThrough({ line, signal, onFound, onLeft: text => console.error(text) }),
  )
}
