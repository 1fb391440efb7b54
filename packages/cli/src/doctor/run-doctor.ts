/**
 * `freshet doctor --through URL`: what the caches between here and a server do, and what that means. Exit code 0: readers
 * are safe; 1: something is fatal or unsafe; 2: it could not be examined; 130: stopped. Whatever happens, the doctor removes
 * the objects that it wrote.
 */
import { randomBytes } from 'node:crypto'
import { FreshetError } from '@freshet/protocol'
import { watchStopSignals } from '../serve/stop-signals.js'
import type { DoctorLine } from './doctor-line.js'
import { countOf, type Examination, examine, PROBES } from './examine.js'
import { createEndpoint, type Endpoint } from './http-probe.js'
import { jsonOf, ProbeObjects } from './probe-objects.js'
import { Progress } from './progress.js'
import { reportText } from './report-text.js'
import { Scene } from './scene.js'

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
    const examination = await examineThrough(line, controller.signal)
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
    console.error(error.message)
    return EXIT_NOT_EXAMINED
  }
}

async function examineThrough(line: DoctorLine, signal: AbortSignal): Promise<Examination> {
  const through = createEndpoint(line.through, signal)
  const server = line.server === undefined ? undefined : createEndpoint(line.server, signal)
  const objects = new ProbeObjects({ through, writer: server ?? through, bucket: line.bucket, token: line.token })
  const scene = new Scene({ through, server, purgeSecret: line.purgeSecret, objects, signal })
  const progress = new Progress(PROBES.length)
  try {
    await checkSameLog(through, server)
    await objects.prepare()
    return await examine(scene, () => progress.step())
  } finally {
    progress.end()
    await removeAll(objects)
    through.close()
    server?.close()
  }
}

/** Throws ANSWER_INVALID unless a Freshet server answers; CONFIG_INVALID if there are two. */
async function checkSameLog(through: Endpoint, server: Endpoint | undefined): Promise<void> {
  const [seen, direct] = [await logOf(through), server && (await logOf(server))]
  if (direct === undefined || seen === direct) return
  throw new FreshetError(
    'CONFIG_INVALID',
    `${through.url} leads to another store than ${server?.url}. Correct --through or --server.`,
  )
}

async function logOf({ url, send }: Endpoint): Promise<string> {
  const answer = await send({ target: `/coherence?nonce=${randomBytes(12).toString('hex')}` })
  const log = jsonOf<{ log?: unknown }>(answer)?.log
  if (answer.status === 200 && typeof log === 'string') return log
  throw new FreshetError(
    'ANSWER_INVALID',
    `${url}/coherence was answered with status ${answer.status}, not by a Freshet server. Is the address right?`,
  )
}

/** What was found is worth more than what is left behind, which the next run does not mind: so this does not throw. */
async function removeAll(objects: ProbeObjects): Promise<void> {
  const left = await objects.remove()
  if (left > 0) console.error(`${left} probe objects could not be removed from ${objects.bucketPath}.`)
}
