/**
 * Keeps the sketch fresh ahead of need, so that reads need not wait for it. No promise of a read depends on this: a read that
 * finds the sketch too old fetches a head itself, and reports what went wrong.
 *
 * poll: a head shortly before the sketch is too old, while the program reads. push: the server's events, and a head whenever
 * events are too rare: while the stream is down or silent; or if nothing is written, which an event reports twice a second, for
 * programs that allow less staleness than that plus the network delay. A stream resumes after the position the session has
 * reached.
 *
 * How fresh an event is follows from the clock of the server process that sends it, and from the stream's own start, which is an
 * exchange with that clock (`core/clock/server-clock.ts`). A stream whose start does not repeat the nonce came from a cache. An
 * event from the future shows that one of the two clocks is unreliable. Either ends the stream, and the next stream has an
 * exchange of its own. Each stream is also reopened after a while, because clocks drift.
 *
 * When an event reports a change of something that was read lately, that is fetched again, and the event is installed once the
 * fetch is done, if the staleness allowed leaves time for it: so reads of data that changes continuously need not wait either.
 */

import { ServerClock } from '@freshet/core/clock'
import { parseEvent, type Session } from '@freshet/core/coherence'
import type { ChangesEvent, Path, Position, StreamStart } from '@freshet/protocol'
import type { Clock } from '../clock/pessimistic-clock.js'
import { createNonce } from '../http/nonce.js'
import { onAbort } from '../http/on-abort.js'
import type { Transport } from '../http/transport.js'
import { readEvents, type ServerEvent } from './event-stream.js'
import type { Refresher } from './refresher.js'

export interface BackgroundOptions {
  readonly session: Session
  readonly refresher: Refresher
  readonly transport: Transport
  readonly clock: Clock
  readonly closed: AbortSignal
  /** When the program last read, by `clock`. */
  readonly lastReadMs: () => number
  /** Fetches recent reads whose data has changed; never fails. */
  readonly readAhead: (changedAt: (path: Path) => Position | undefined) => Promise<void>
}

/** A stream, and the last event on it, after which the next one continues. */
interface Stream {
  readonly nonce: string
  readonly askedAtMs: number
  readonly clock: ServerClock
  /** The server's clock when it received the request for the stream. */
  clockMs: number
  log: string | undefined
  last: ChangesEvent | undefined
}

/** After this time without a read, polling stops. */
const IDLE_MS_MAX = 30_000
const POLL_MS_MIN = 20
/** The share of the staleness after which the sketch is refreshed, so that the next one arrives before a read needs it. */
const AGE_SHARE_MAX = 0.9
const AGE_SHARE_MIN = 0.5
/** A stream that has been silent for this long is dead: the server sends a heartbeat twice a second. */
const SILENCE_MS_MAX = 15_000
/** How old a stream may get; the drift allowed for in this time is 90 ms. */
const STREAM_MS_MAX = 180_000
/** How old the last head may get beside a stream: only heads report what has left the window. */
const HEAD_MS_MAX = 60_000
const RECONNECT_MS_MAX = 30_000
/** How long changes are held back while the data they make outdated is fetched; also as a share of the staleness. */
const HOLD_MS_MAX = 300
const HOLD_SHARE_MAX = 0.3
const HOLD_MS_MIN = 50

export class BackgroundRefresh {
  readonly #options: BackgroundOptions
  #headAtMs: number
  /** How often opening the stream has failed since the last event. */
  #failures = 0
  /** How long the last head took to arrive. */
  #headMs = 0

  constructor(options: BackgroundOptions) {
    this.#options = options
    this.#headAtMs = options.clock()
  }

  /** Runs until the connection is closed. */
  async poll(): Promise<void> {
    const { clock, lastReadMs, closed } = this.#options
    let waitMs = this.#freshMs()
    while (await isOpenAfter(Math.max(POLL_MS_MIN, waitMs), closed)) {
      const isRead = clock() - lastReadMs() < IDLE_MS_MAX
      if (isRead && this.#freshMs() <= 0) await this.#refreshQuietly()
      // After a failure, the head is not requested again at once.
      waitMs = isRead && this.#freshMs() > 0 ? this.#freshMs() : this.#ageMsMax()
    }
  }

  /** Runs until the connection is closed. */
  async push(): Promise<void> {
    const { closed } = this.#options
    void this.poll()
    while (!closed.aborted) {
      if (await this.#listen().catch(() => false)) continue
      this.#failures++
      if (!(await isOpenAfter(Math.min(RECONNECT_MS_MAX, 100 * 2 ** this.#failures), closed))) return
      await this.#refreshQuietly()
    }
  }

  /** The next head must arrive before the present one is too old. Its age counts from its request. */
  #ageMsMax(): number {
    const { stalenessMs } = this.#options.session
    return Math.max(stalenessMs * AGE_SHARE_MIN, stalenessMs * AGE_SHARE_MAX - 2 * this.#headMs)
  }

  /** How long the sketch stays fresh enough. */
  #freshMs(): number {
    const { session, clock } = this.#options
    return session.knownAsOfMs + this.#ageMsMax() - clock()
  }

  /** A failure is not reported: the next read finds the sketch too old, tries again, and reports what is wrong. */
  async #refreshQuietly(): Promise<void> {
    const { refresher, clock, closed } = this.#options
    const askedAtMs = clock()
    await refresher.refresh(closed).catch(() => {})
    this.#headMs = clock() - askedAtMs
  }

  /** Follows one stream to its end; true if it ended because of its age. */
  async #listen(): Promise<boolean> {
    const { transport, session, clock, closed } = this.#options
    const controller = new AbortController()
    const stop = onAbort(closed, () => controller.abort(closed.reason))
    const giveUp = () => controller.abort(new Error(`The stream was silent for ${SILENCE_MS_MAX} ms.`))
    let timer = setTimeout(giveUp, SILENCE_MS_MAX)
    try {
      const stream: Stream = {
        ...{ nonce: createNonce(), askedAtMs: clock(), clock: new ServerClock(), clockMs: 0 },
        ...{ log: undefined, last: undefined },
      }
      const target = `/coherence/events?after=${session.position}&nonce=${stream.nonce}`
      const response = await transport.open({ method: 'GET', target, cache: 'no-store' }, controller.signal)
      if (!response.ok || !response.body) throw new Error(`${target} was answered ${response.status}.`)
      const events = readEvents(response.body, () => {
        clearTimeout(timer)
        timer = setTimeout(giveUp, SILENCE_MS_MAX)
      })
      let installed = Promise.resolve()
      for await (const event of events) {
        const changes = this.#parse(event, stream)
        const asOfMs = this.#asOfMs(changes, stream)
        const { log } = stream
        const ahead = this.#readAhead(session.preview(changes))
        installed = Promise.all([installed, ahead]).then(() => this.#install(changes, asOfMs, log))
        installed.catch(error => controller.abort(error))
        if (clock() - stream.askedAtMs > STREAM_MS_MAX) break
      }
      await installed
      return clock() - stream.askedAtMs > STREAM_MS_MAX
    } finally {
      clearTimeout(timer)
      stop()
      controller.abort()
    }
  }

  #parse({ event, data }: ServerEvent, stream: Stream): ChangesEvent {
    if (event === 'start') stream.last = startOf(stream, data)
    else if (stream.last === undefined) throw new Error('The stream does not begin with its start.')
    else stream.last = parseEvent(data, stream.last)
    this.#failures = 0
    return stream.last
  }

  /** Resolves when the recent reads that have changed are fetched, or when the time for that is over. */
  async #readAhead(changedAt: (path: Path) => Position | undefined): Promise<void> {
    const { session, readAhead, closed } = this.#options
    const holdMs = Math.min(HOLD_MS_MAX, session.stalenessMs * HOLD_SHARE_MAX)
    if (holdMs >= HOLD_MS_MIN) await Promise.race([readAhead(changedAt), isOpenAfter(holdMs, closed)])
  }

  /** The event includes everything acknowledged before this time of the client's clock. */
  #asOfMs({ askedMs }: ChangesEvent, { clock, clockMs }: Stream): number {
    const asOfMs = clock.asOfMs(Math.max(askedMs, clockMs))
    if (asOfMs > this.#options.clock()) throw new Error('An event arrived before it was made: a clock has stood still.')
    return asOfMs
  }

  async #install(changes: ChangesEvent, asOfMs: number, log: string | undefined): Promise<void> {
    const { refresher, session, closed } = this.#options
    if (log === session.log && session.push(changes, asOfMs)) this.#dropOldChanges()
    else await refresher.refresh(closed)
  }

  #dropOldChanges(): void {
    const nowMs = this.#options.clock()
    if (nowMs - this.#headAtMs < HEAD_MS_MAX) return
    this.#headAtMs = nowMs
    void this.#refreshQuietly()
  }
}

function startOf(stream: Stream, data: string): ChangesEvent {
  const start = JSON.parse(data) as StreamStart
  if (stream.log === undefined) {
    const { nonce, clockMs = Number.NaN } = start
    if (nonce !== stream.nonce) throw new Error('The stream is not the one that was requested.')
    stream.clock.sample(stream.askedAtMs, clockMs)
    stream.clockMs = clockMs
  }
  stream.log = start.log
  return start
}

/** Waits without keeping a Node process alive; false if the connection was closed meanwhile. */
function isOpenAfter(delayMs: number, closed: AbortSignal): Promise<boolean> {
  return new Promise(resolve => {
    const end = () => {
      clearTimeout(timer)
      stop()
      resolve(!closed.aborted)
    }
    const timer: ReturnType<typeof setTimeout> & { unref?: () => void } = setTimeout(end, delayMs)
    timer.unref?.()
    const stop = onAbort(closed, () => queueMicrotask(end))
  })
}
