/**
 * Keeps the sketch fresh ahead of need, so that reads find it so and do not wait. It is never needed for what a read
 * promises: a read that finds the sketch too old fetches a head itself, and reports what went wrong.
 *
 * poll: a head every half of the staleness allowed, while somebody reads. push: the server's events; while the stream is
 * down it is polled. A stream resumes after the position the session has reached.
 */
import type { ChangesEvent, Position } from '@freshet/protocol'
import type { Clock } from '../clock/pessimistic-clock.js'
import type { ServerClock } from '../clock/server-clock.js'
import { onAbort } from '../http/on-abort.js'
import type { Transport } from '../http/transport.js'
import { readEvents, type ServerEvent } from './event-stream.js'
import type { Refresher } from './refresher.js'
import type { TrackedSession } from './tracked-session.js'

export interface BackgroundOptions {
  readonly session: TrackedSession
  readonly refresher: Refresher
  readonly transport: Transport
  readonly clock: Clock
  readonly serverClock: ServerClock
  readonly closed: AbortSignal
  /** When somebody last read, by the clock. */
  readonly lastReadMs: () => number
}

interface Heartbeat {
  readonly log: string
  readonly position: Position
  readonly timeMs: number
}

/** Changes do not say which log they are of. Until the first heartbeat of a stream does, they are held back. */
interface Opening {
  held: ChangesEvent[] | undefined
}

/** After so long without a read nobody is polled for. */
const IDLE_MS_MAX = 30_000
const POLL_MS_MIN = 20
/** A stream on which nothing has come for so long is dead: the server's heart beats every second. */
const SILENCE_MS_MAX = 15_000
/** How old the comparison of clocks may get; the drift allowed for in this time is 30 ms. */
const CLOCK_MS_MAX = 60_000
const RECONNECT_MS_MAX = 30_000

export class BackgroundRefresh {
  readonly #options: BackgroundOptions
  #comparedAtMs: number
  /** Since the last event: how often the stream could not be had. */
  #failures = 0

  constructor(options: BackgroundOptions) {
    this.#options = options
    this.#comparedAtMs = options.clock()
  }

  /** Goes on until the connection is closed. */
  async poll(): Promise<void> {
    const { session, clock, lastReadMs, closed } = this.#options
    while (await isOpenAfter(Math.max(POLL_MS_MIN, session.core.stalenessMs / 2), closed)) {
      if (clock() - lastReadMs() < IDLE_MS_MAX) await this.#refreshQuietly()
    }
  }

  /** Goes on until the connection is closed. */
  async push(): Promise<void> {
    const { session, closed } = this.#options
    while (!closed.aborted) {
      await this.#listen().catch(() => {})
      this.#failures++
      const reconnectMs = Math.min(RECONNECT_MS_MAX, 100 * 2 ** this.#failures)
      const pollMs = Math.max(POLL_MS_MIN, session.core.stalenessMs / 2)
      for (let waitedMs = 0; waitedMs < reconnectMs; waitedMs += pollMs) {
        if (!(await isOpenAfter(Math.min(pollMs, reconnectMs), closed))) return
        await this.#refreshQuietly()
      }
    }
  }

  /** The next read will find the sketch too old, try again, and say what is wrong. */
  async #refreshQuietly(): Promise<void> {
    await this.#options.refresher.refresh(this.#options.closed).catch(() => {})
  }

  /** Follows one stream to its end. */
  async #listen(): Promise<void> {
    const { transport, session, closed } = this.#options
    const controller = new AbortController()
    const stop = onAbort(closed, () => controller.abort(closed.reason))
    const giveUp = () => controller.abort(new Error(`Nothing came for ${SILENCE_MS_MAX} ms.`))
    let timer = setTimeout(giveUp, SILENCE_MS_MAX)
    try {
      const target = `/coherence/events?after=${session.core.position}`
      const response = await transport.open({ method: 'GET', target, cache: 'no-store' }, controller.signal)
      if (!response.ok || !response.body) throw new Error(`${target} was answered ${response.status}.`)
      const events = readEvents(response.body, () => {
        clearTimeout(timer)
        timer = setTimeout(giveUp, SILENCE_MS_MAX)
      })
      const opening: Opening = { held: [] }
      for await (const event of events) await this.#take(event, opening)
    } finally {
      clearTimeout(timer)
      stop()
      controller.abort()
    }
  }

  async #take({ event, data }: ServerEvent, opening: Opening): Promise<void> {
    const { refresher, closed } = this.#options
    const isKnown =
      (event === 'changes' && this.#takeChanges(JSON.parse(data) as ChangesEvent, opening)) ||
      (event === 'heartbeat' && this.#takeHeartbeat(JSON.parse(data) as Heartbeat, opening))
    this.#failures = 0
    if (!isKnown) await refresher.refresh(closed)
  }

  #takeChanges(event: ChangesEvent, { held }: Opening): boolean {
    if (held) held.push(event)
    return held !== undefined || this.#push(event)
  }

  /** Nothing changed between the session's position and this one, as of then: an event without changes. */
  #takeHeartbeat({ log, position, timeMs }: Heartbeat, opening: Opening): boolean {
    const held = opening.held ?? []
    opening.held = undefined
    if (log !== this.#options.session.core.log) return false
    this.#compareClocks()
    return [...held, { from: position, to: position, timeMs, changes: [] }].every(event => this.#push(event))
  }

  #push(event: ChangesEvent): boolean {
    const { session, serverClock } = this.#options
    return session.core.push(event, serverClock.asOfMs(event.timeMs))
  }

  /** Every head says what the server's clock was; and, unlike /time, comes under a name that no cache has. */
  #compareClocks(): void {
    const nowMs = this.#options.clock()
    if (nowMs - this.#comparedAtMs < CLOCK_MS_MAX) return
    this.#comparedAtMs = nowMs
    void this.#refreshQuietly()
  }
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
