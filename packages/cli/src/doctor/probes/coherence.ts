/** What clients need besides the objects: segments and events. The last probe runs a client. */
import { randomBytes } from 'node:crypto'
import { connect, type Database } from '@freshet/client'
import { decodeSegmentBundle, formatSegmentRefs, parseSeed } from '@freshet/core/coherence'
import type { CoherenceHead } from '@freshet/protocol'
import { fatal, good, type Outcome, type Probe, slower, undecided } from './finding.js'
import type { Endpoint } from './http-probe.js'
import { jsonOf } from './probe-objects.js'
import type { Scene } from './scene.js'

const SEGMENT_MS_MAX = 8000
const POLL_MS = 200
/** The server pushes changes within milliseconds, and sends a heartbeat every second. */
const EVENT_MS_MAX = 2500
const ROUNDS = 12

export const passesSegments: Probe = {
  fact: 'segments',
  claim: 'the segments of the sketch arrive intact',
  examine: async scene => {
    const head = await headWithSegments(scene)
    if (!head) return undecided('The server had no closed segment yet.')
    const refs = head.segments.slice(-3)
    const target = `/coherence/segments/${formatSegmentRefs(refs)}`
    for (let i = 0; i < 2; i++) {
      const { status, body } = await scene.through.send({ target })
      // An old segment may just have left the window, or been merged into a larger one.
      if (status === 404) return undecided('The segment was merged during the request.')
      if (status === 200 && isBundle(body, refs.length, head.seed)) continue
      return fatal(
        `${target} was answered with status ${status} and a body that is not the segments' filters.`,
        'Fatal: clients cannot learn what has changed.',
      )
    }
    return good(`${refs.length === 1 ? 'One' : refs.length} arrived twice and could be decoded.`)
  },
}

/** A segment is closed a second after the first write in it. */
async function headWithSegments(scene: Scene): Promise<CoherenceHead | undefined> {
  const object = await scene.objects.create('segment')
  const deadlineMs = performance.now() + SEGMENT_MS_MAX
  while (performance.now() < deadlineMs) {
    const nonce = randomBytes(12).toString('hex')
    const head = jsonOf<CoherenceHead>(await scene.through.send({ target: `/coherence?nonce=${nonce}` }))
    if (head?.segments?.length) return head
    await scene.pause(POLL_MS)
    await scene.objects.write(object)
  }
  return undefined
}

function isBundle(body: Buffer, count: number, seed: string): boolean {
  try {
    return decodeSegmentBundle(body, count, parseSeed(seed)!).length === count
  } catch {
    // The error says why, but the report needs no reason.
    return false
  }
}

/** The content of the events is for clients. Here only their timing counts: a buffer would hold back small events. */
export const passesEvents: Probe = {
  fact: 'events',
  claim: '/coherence/events arrives without delay',
  examine: async scene => {
    const object = await scene.objects.create('events')
    const stream = new ArrivingBytes()
    stream.open(scene.through, `/coherence/events?after=${object.position}`)
    try {
      const openedMs = await stream.more(scene)
      if (openedMs === undefined) return late('After the stream was opened, nothing arrived')
      await scene.objects.write(object)
      const arrivedMs = await stream.more(scene)
      if (arrivedMs === undefined) return late('After a write, nothing arrived')
      return good(
        `The first event arrived after ${Math.round(openedMs)} ms, the next ${Math.round(arrivedMs)} ms after a write.`,
      )
    } finally {
      stream.close()
    }
  },
}

function late(what: string): Outcome {
  return slower(
    `${what} within ${EVENT_MS_MAX} ms: events are buffered or refused.`,
    'Nothing is stale: a read that knows too little asks /coherence. But subscribers learn of changes late.',
  )
}

class ArrivingBytes {
  readonly #closed = new AbortController()
  #bytes = 0
  #seen = 0

  open(through: Endpoint, target: string): void {
    through
      .open({ target, headers: { Accept: 'text/event-stream' }, isFromElsewhere: true })
      .then(answer => {
        this.#closed.signal.addEventListener('abort', () => answer.destroy())
        if (this.#closed.signal.aborted || answer.statusCode !== 200) answer.destroy()
        answer.on('data', (chunk: Buffer) => {
          this.#bytes += chunk.length
        })
        answer.on('error', () => {})
      })
      // Then nothing arrives, and the probe reports that.
      .catch(() => {})
  }

  /** How long it took until more bytes arrived; undefined if none did. */
  async more(scene: Scene): Promise<number | undefined> {
    const beganMs = performance.now()
    while (this.#bytes === this.#seen) {
      if (performance.now() - beganMs > EVENT_MS_MAX) return undefined
      await scene.pause(5)
    }
    this.#seen = this.#bytes
    return performance.now() - beganMs
  }

  close(): void {
    this.#closed.abort()
  }
}

export const servesClients: Probe = {
  fact: 'client',
  claim: 'a Freshet client always reads the latest write, and its reads never go back in time',
  examine: async scene => {
    const object = await scene.objects.create('client')
    const [bucket, id] = [scene.objects.bucketPath.slice('/db/'.length), object.path.split('/').at(-1)!]
    let db: Database | undefined
    try {
      db = await connect(scene.through.url, { timeoutMs: 5000, memoryBytesMax: 0 })
      for (let i = 0; i < ROUNDS; i++) {
        scene.throwIfStopped()
        await scene.objects.write(object)
        const value = await db.bucket<{ number: number }>(bucket).get(id, { read: 'current' })
        if (value?.number === object.number) continue
        return fatal(
          `It read ${value?.number} after ${object.number} had been acknowledged.`,
          'Fatal: this is stale data.',
        )
      }
      return good(`${ROUNDS} writes, each read back at once through the caches.`)
    } catch (error) {
      scene.throwIfStopped()
      const { code = 'an error', message } = error as { code?: string; message: string }
      return fatal(`A read failed with ${code}: ${message}`, 'Fatal: reads fail (rather than return stale data).')
    } finally {
      db?.close()
    }
  },
}
