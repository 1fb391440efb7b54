/**
 * Keeps the sketch fresh ahead of need, so that reads find it so and do not wait. It is never needed for what a read
 * promises: a read that finds the sketch too old fetches a head itself, and reports what went wrong.
 *
 * poll: a head shortly before what is known is too old, while the program reads. push: the server's events, and a head where
 * they come too seldom: while the stream is down or silent; or where nothing is written, which an event says twice a second,
 * for programs that allow less staleness than that and the way take. A stream resumes after the position the session has reached.
 *
 * How fresh an event is follows from the clock of the server process that sends it, and from the stream's own start, which is an
 * exchange with that clock (`core/clock/server-clock.ts`). A stream whose start does not repeat the nonce was kept by some cache. An
 * event from the future shows that one of the two clocks cannot be relied on. Either ends the stream, and the next has an exchange of
 * its own; so has each stream after a while, since clocks drift.
 *
 * What was read lately is fetched again when an event says that it has changed, and the event is installed when that is there,
 * as far as the staleness allowed has room for it: so reads of what changes all the time do not wait either.
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
  /** When the program last read, by the clock. */
  readonly lastReadMs: () => number
  /** Fetches what was read lately and has changed; never fails. */
  readonly readAhead: (changedAt: (path: Path) => Position | undefined) => Promise<void>
}

/** A stream, and the event that came last on it, where the next one goes on. */
interface Stream {
  readonly nonce: string
  readonly askedAtMs: number
  readonly clock: ServerClock
  /** What the server's clock was when it was asked for the stream. */
  clockMs: number
  log: string | undefined
  last: ChangesEvent | undefined
}

/** After so long without a read there is no polling. */
const IDLE_MS_MAX = 30_000
const POLL_MS_MIN = 20
/** Of the staleness allowed: a sketch that is older is refreshed, so that the next is there before a read needs it. */
const AGE_SHARE_MAX = 0.9
const AGE_SHARE_MIN = 0.5
/** A stream on which nothing has come for so long is dead: the server's heart beats twice a second. */
const SILENCE_MS_MAX = 15_000
/** How old a stream may get; the drift allowed for in this time is 90 ms. */
const STREAM_MS_MAX = 180_000
/** How old the last head may get, where there is a stream: only heads say what has left the window. */
const HEAD_MS_MAX = 60_000
const RECONNECT_MS_MAX = 30_000
/** So long changes are held back while what they make outdated is fetched; and of the staleness allowed. */
const HOLD_MS_MAX = 300
const HOLD_SHARE_MAX = 0.3
const HOLD_MS_MIN = 50

export class BackgroundRefresh {
  readonly #options: BackgroundOptions
  #headAtMs: number
  /** Since the last event: how often the stream could not be had. */
  #failures = 0
  /** How long the last head took to come. */
  #headMs = 0

  constructor(options: BackgroundOptions) {
    this.#options = options
    this.#headAtMs = options.clock()
  }

  /** Goes on until the connection is closed. */
  async poll(): Promise<void> {
    const { clock, lastReadMs, closed } = this.#options
    let waitMs = this.#freshMs()
    while (await isOpenAfter(Math.max(POLL_MS_MIN, waitMs), closed)) {
      const isRead = clock() - lastReadMs() < IDLE_MS_MAX
      if (isRead && this.#freshMs() <= 0) await this.#refreshQuietly()
      // A head that could not be had is not asked for again at once.
      waitMs = isRead && this.#freshMs() > 0 ? this.#freshMs() : this.#ageMsMax()
    }
  }

  /** Goes on until the connection is closed. */
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

  /** The next head must be there before the one known, which counts from when it was asked for, is too old. */
  #ageMsMax(): number {
    const { stalenessMs } = this.#options.session
    return Math.max(stalenessMs * AGE_SHARE_MIN, stalenessMs * AGE_SHARE_MAX - 2 * this.#headMs)
  }

  /** For so long nothing need be done. */
  #freshMs(): number {
    const { session, clock } = this.#options
    return session.knownAsOfMs + this.#ageMsMax() - clock()
  }

  /** The next read will find the sketch too old, try again, and say what is wrong. */
  async #refreshQuietly(): Promise<void> {
    const { refresher, clock, closed } = this.#options
    const askedAtMs = clock()
    await refresher.refresh(closed).catch(() => {})
    this.#headMs = clock() - askedAtMs
  }

  /** Follows one stream to its end; true if that is because it was old. */
  async #listen(): Promise<boolean> {
    const { transport, session, clock, closed } = this.#options
    const controller = new AbortController()
    const stop = onAbort(closed, () => controller.abort(closed.reason))
    const giveUp = () => controller.abort(new Error(`Nothing came for ${SILENCE_MS_MAX} ms.`))
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

  /** Resolves when what was read lately and has changed is there, or when it cannot be waited for any longer. */
  async #readAhead(changedAt: (path: Path) => Position | undefined): Promise<void> {
    const { session, readAhead, closed } = this.#options
    const holdMs = Math.min(HOLD_MS_MAX, session.stalenessMs * HOLD_SHARE_MAX)
    if (holdMs >= HOLD_MS_MIN) await Promise.race([readAhead(changedAt), isOpenAfter(holdMs, closed)])
  }

  /** The event includes everything acknowledged before this, by our clock. */
  #asOfMs({ askedMs }: ChangesEvent, { clock, clockMs }: Stream): number {
    const asOfMs = clock.asOfMs(Math.max(askedMs, clockMs))
    if (asOfMs > this.#options.clock()) throw new Error('An event came before it was made: a clock has stood still.')
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
    if (nonce !== stream.nonce) throw new Error('The stream is another one than was asked for.')
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
