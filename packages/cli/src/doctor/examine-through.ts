/** Examines the caches on the way to a server. It always removes the probe objects and buckets that it creates. */
import { randomBytes } from 'node:crypto'
import { FreshetError } from '@freshet/protocol'
import type { DoctorLine } from './doctor-line.js'
import { type Examination, examine } from './examine.js'
import type { Finding } from './probes/finding.js'
import { createEndpoint, type Endpoint } from './probes/http-probe.js'
import { jsonOf, ProbeObjects } from './probes/probe-objects.js'
import { Scene } from './probes/scene.js'

export interface ExamineOptions {
  readonly line: Pick<DoctorLine, 'through' | 'server' | 'bucket' | 'purgeSecret' | 'token'>
  readonly signal: AbortSignal
  /** Called with each finding at once. */
  readonly onFound: (finding: Finding) => void
  /** Called if some of the probe objects, or their buckets, could not be removed. */
  readonly onLeft: (text: string) => void
}

/** Throws ANSWER_INVALID, CONFIG_INVALID, REQUEST_FAILED. */
export async function examineThrough({ line, signal, onFound, onLeft }: ExamineOptions): Promise<Examination> {
  const through = createEndpoint(line.through, signal)
  const server = line.server === undefined ? undefined : createEndpoint(line.server, signal)
  const objects = new ProbeObjects({ through, writer: server ?? through, bucket: line.bucket, token: line.token })
  const scene = new Scene({ through, server, purgeSecret: line.purgeSecret, objects, signal })
  try {
    await checkSameLog(through, server)
    await objects.prepare()
    return await examine(scene, onFound)
  } finally {
    await removeAll(objects, onLeft)
    through.close()
    server?.close()
  }
}

/** Throws ANSWER_INVALID unless a Freshet server answers; CONFIG_INVALID if the two addresses have different stores. */
async function checkSameLog(through: Endpoint, server: Endpoint | undefined): Promise<void> {
  const [seen, direct] = [await logOf(through), server && (await logOf(server))]
  if (direct === undefined || seen === direct) return
  throw new FreshetError(
    'CONFIG_INVALID',
    `${through.url} and ${server?.url} lead to different stores. Correct --through or --server.`,
  )
}

async function logOf({ url, send }: Endpoint): Promise<string> {
  const answer = await send({ target: `/coherence?nonce=${randomBytes(12).toString('hex')}` })
  const log = jsonOf<{ log?: unknown }>(answer)?.log
  if (answer.status === 200 && typeof log === 'string') return log
  throw new FreshetError(
    'ANSWER_INVALID',
    `${url}/coherence was answered with status ${answer.status}, and not by a Freshet server. Check the address.`,
  )
}

/** Does not throw: the findings matter more than objects left behind, which do not disturb the next run. */
async function removeAll(objects: ProbeObjects, onLeft: ExamineOptions['onLeft']): Promise<void> {
  const left = await objects.remove()
  if (left > 0) onLeft(`${left} probe objects or buckets could not be removed: ${objects.bucketPath}.`)
}
