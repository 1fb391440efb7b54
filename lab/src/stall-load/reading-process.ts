/**
 * Readers in their own process, so that they can stall as well: sessions as in `coherence`, some for each way of refreshing. The
 * process sends what they read and write to its parent, which judges it. Options come as JSON in the only argument.
 *
 * Times are those of the machine's monotonic clock, which is the same for all processes.
 */
import { LoadSession } from '../coherence-load/load-session.js'
import type { Found, OpenRead, Promised, SessionRecord } from '../coherence-load/read-checker.js'
import { createRandom } from '../harness/random.js'
import { sumOf } from '../harness/sum-of.js'

export interface ReadingOptions {
  readonly url: string
  readonly refreshes: readonly ('on-demand' | 'poll' | 'push')[]
  /** The number of sessions for each way of refreshing. */
  readonly sessions: number
  /** The average pause between two requests of a lane. */
  readonly pauseMs: number
  readonly seed: number
}

/** A read, with the promises that its own process can compute. */
export interface ReportedRead extends Omit<OpenRead, 'record'> {
  readonly found: Found | undefined
  readonly served: unknown
  readonly endedMs: number
  /** The number of reads in this process so far. */
  readonly reads: number
}

export type ReadingMessage =
  | { readonly kind: 'reads'; readonly reads: readonly ReportedRead[] }
  | {
      readonly kind: 'put'
      readonly id: string
      readonly position: number
      readonly number: number
      readonly ms: number
    }
  | { readonly kind: 'end'; readonly failed: number }

const TELL_EVERY = 20

/** Add this to `performance.now()` of this process. */
export function machineOffsetMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6 - performance.now()
}

class ReadReporter {
  reads = 0
  #unreported: ReportedRead[] = []
  readonly #offsetMs = machineOffsetMs()

  begin(id: string, record: SessionRecord, what: string, ageMs: number, beganMs: number): OpenRead {
    const least: (readonly [Promised, number])[] = [
      ['monotonic', record.seen.get(id) ?? 0],
      ['own write', record.wrote.get(id) ?? 0],
    ]
    return { id, record, what, ageMs, beganMs, least }
  }

  end({ record, ...read }: OpenRead, found: Found | undefined, served: unknown, endedMs: number): void {
    this.reads++
    const beganMs = read.beganMs + this.#offsetMs
    this.#unreported.push({ ...read, beganMs, found, served, endedMs: endedMs + this.#offsetMs, reads: this.reads })
    if (found) record.seen.set(read.id, Math.max(found.version, record.seen.get(read.id) ?? 0))
    if (this.#unreported.length >= TELL_EVERY) this.report()
  }

  acknowledgePut(id: string, position: number, number: number, ms: number): void {
    send({ kind: 'put', id, position, number, ms: ms + this.#offsetMs })
  }

  report(): void {
    send({ kind: 'reads', reads: this.#unreported.splice(0) })
  }
}

function send(message: ReadingMessage): void {
  process.send!(message)
}

async function run({ url, refreshes, sessions, pauseMs, seed }: ReadingOptions): Promise<void> {
  const reporter = new ReadReporter()
  const random = createRandom(seed)
  let isOver = false
  process.once('message', () => {
    isOver = true
  })
  const shared = { url, pauseMs, fetch, history: reporter, checker: reporter, onUrl: () => {} }
  const all = refreshes.flatMap(refresh =>
    Array.from({ length: sessions }, (_, i) => {
      return new LoadSession({ ...shared, refresh, random: random.fork(`${refresh} ${i}`) })
    }),
  )
  await Promise.all(all.map(session => session.run(() => isOver)))
  reporter.report()
  send({ kind: 'end', failed: sumOf(all, ({ failed }) => failed) })
  process.disconnect()
}

if (process.argv[1]?.endsWith('reading-process.js')) {
  process.once('disconnect', () => process.exit())
  await run(JSON.parse(process.argv[2]!) as ReadingOptions)
}
