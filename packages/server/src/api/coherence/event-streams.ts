/**
 * `GET /coherence/events`: pushes the change log, as hashes of paths, by server-sent events.
 *
 *     event:start                                   once, and again if changes are missing that cannot be listed: then
 *     data:{"log":"...","from":104,"to":105,        `from` is later than what the reader knows, and it fetches a head.
 *     data: "askedMs":...,"changes":"BBE...",       (On one line. The last two only in the first start, and only if the
 *     data: "nonce":"...","clockMs":...}            request has a nonce: an exchange of clocks, core/clock/server-clock.ts.)
 *
 *     data:oGCDE...                                 all that changed since the event before, perhaps nothing; drawn in
 *                                                   core/coherence/news.ts
 *
 * Changes are gathered for a moment, so that ten writes a second make five events, but the first change after a quiet second is
 * sent at once. The server makes each event once and sends the same bytes to all readers; a new reader starts at the last event
 * sent. The server disconnects a reader that does not read once too much data waits for it. That reader resumes with `?after=`,
 * or, as EventSource does, with the position of the last `start`.
 *
 * The body ends with the connection instead of being chunked: the lengths of chunks would be a fifth of all that is sent.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { EVENT_TIME_MS, formatEvent, packChanges } from '@freshet/core/coherence'
import { FreshetError, type Position, type StreamStart } from '@freshet/protocol'
import type { LogFollower } from '../../coherence/log-follower.js'
import { describeError, type Log } from '../../monitoring/log.js'
import { overLimit } from '../../settings/limits.js'
import type { ServerSettings } from '../../settings/server-settings.js'

export interface EventStreamsOptions {
  readonly follower: LogFollower
  readonly settings: ServerSettings
  readonly log: Log
}

/** The request for a stream. `clockMs`: `performance.now()` when the request arrived. */
export interface StreamRequest extends Pick<StreamStart, 'nonce' | 'clockMs'> {
  readonly after: Position | undefined
  readonly headers: readonly string[]
}

/** After this long without a change, the next change is sent without waiting for others. */
const QUIET_MS = 1000

export class EventStreams {
  readonly #follower: LogFollower
  readonly #settings: ServerSettings
  readonly #log: Log
  readonly #clients = new Set<ServerResponse>()
  #stopFollowing: () => void = () => undefined
  /** How far all streams have come. */
  #sent = { position: 0, askedMs: 0 }
  /** By `performance.now()`. */
  #changedAtMs = Number.NEGATIVE_INFINITY
  #heartbeat: NodeJS.Timeout | undefined
  #push: NodeJS.Timeout | undefined
  #isStopping = false
  cut = 0

  constructor({ follower, settings, log }: EventStreamsOptions) {
    this.#follower = follower
    this.#settings = settings
    this.#log = log
  }

  get size(): number {
    return this.#clients.size
  }

  /** The follower must have caught up since the request arrived. Throws SERVER_BUSY, SERVER_STOPPING. */
  open(response: ServerResponse, { after, headers, ...exchange }: StreamRequest): void {
    this.#checkRoom()
    response.removeHeader('Transfer-Encoding')
    response.writeHead(200, [
      ...['Content-Type', 'text/event-stream', 'Cache-Control', 'no-store', 'X-Accel-Buffering', 'no'],
      ...['Connection', 'close', ...headers],
    ])
    if (this.#clients.size > 0) this.#pushNow()
    else {
      this.#send()
      this.#stopFollowing = this.#follower.onProgress(() => this.#pushSoon())
    }
    response.write(this.#startText(after ?? this.#sent.position, exchange))
    this.#clients.add(response)
    response.once('close', () => this.#remove(response))
    this.#heartbeat ??= setInterval(() => this.#beat(), this.#settings.heartbeatMs).unref()
  }

  stop(): void {
    this.#isStopping = true
    this.#stopFollowing()
    clearInterval(this.#heartbeat)
    clearTimeout(this.#push)
    for (const response of this.#clients) response.end()
  }

  #checkRoom(): void {
    if (this.#isStopping) throw new FreshetError('SERVER_STOPPING', 'The server is stopping. Connect to another one.')
    const { eventClientsMax } = this.#settings
    if (this.#clients.size < eventClientsMax) return
    throw overLimit({
      code: 'SERVER_BUSY',
      limit: 'eventClientsMax',
      what: `${eventClientsMax} readers of events are connected, the most that this server accepts.`,
      instead: 'Poll /coherence (as the client does meanwhile), reconnect later',
      details: { retryAfterS: 5, eventClientsMax },
    })
  }

  /** Includes what was missed after a position, if that can be listed; otherwise only the position of the stream. */
  #startText(after: Position, exchange: Pick<StreamStart, 'nonce' | 'clockMs'> = {}): string {
    const { position: to, askedMs } = this.#sent
    const missed = after > to ? undefined : this.#follower.sketch.changesAfter(after)
    const [from, changes] = missed === undefined ? [to, packChanges(to, to, [])] : [after, missed]
    const start: StreamStart = { log: this.#follower.log, from, to, askedMs, changes, ...exchange }
    // No id if something is missing: a reader that reconnects before it has fetched the head gets the gap again.
    const id = missed === undefined ? '' : `id:${to}\n`
    return `retry:1000\n${id}event:start\ndata:${JSON.stringify(start)}\n\n`
  }

  #pushSoon(): void {
    if (this.#push) return
    const isQuiet = performance.now() - this.#changedAtMs > QUIET_MS
    this.#push = setTimeout(() => this.#pushNow(), isQuiet ? 0 : this.#settings.eventIntervalMs)
  }

  /** Brings all clients to the follower's position. */
  #pushNow(): void {
    clearTimeout(this.#push)
    this.#push = undefined
    if (this.#follower.position <= this.#sent.position) return
    this.#changedAtMs = performance.now()
    this.#send()
  }

  #send(): void {
    const { position: from, askedMs: before } = this.#sent
    const { position: to, sketch } = this.#follower
    // Rounded down, so that the event never claims to know later commits.
    const askedMs = Math.floor(this.#follower.askedMs / EVENT_TIME_MS) * EVENT_TIME_MS
    this.#sent = { position: to, askedMs }
    if (this.#clients.size === 0) return
    const changes = sketch.changesAfter(from)
    const isListed = changes !== undefined
    this.#broadcast(
      isListed ? `data:${formatEvent({ from, to, askedMs, changes }, before)}\n\n` : this.#startText(from),
    )
  }

  /** Runs only when nothing was sent for `heartbeatMs`. */
  async #beat(): Promise<void> {
    try {
      await this.#follower.catchUp()
      this.#send()
    } catch (error) {
      this.#log.write('error', 'heartbeat failed', describeError(error))
    }
  }

  #broadcast(text: string): void {
    this.#heartbeat?.refresh()
    for (const response of this.#clients) {
      response.write(text)
      if (response.writableLength <= this.#settings.eventBufferBytesMax) continue
      this.cut++
      this.#remove(response)
      response.destroy()
    }
  }

  #remove(response: ServerResponse): void {
    this.#clients.delete(response)
    if (this.#clients.size > 0) return
    this.#stopFollowing()
    clearInterval(this.#heartbeat)
    this.#heartbeat = undefined
  }
}

/**
 * Where the reader left off. Last-Event-ID, which the browser sends when it reconnects, may be later than the URL, which stays
 * the same.
 */
export function resumePosition(request: IncomingMessage, after: Position | undefined): Position | undefined {
  const text = request.headers['last-event-id']
  if (typeof text !== 'string' || !/^[0-9]{1,15}$/.test(text)) return after
  return Math.max(Number(text), after ?? 0)
}
