/**
 * `GET /coherence/events`: the change log pushed, as hashes of paths, by server-sent events.
 *
 *     id: 105                                       id: the position up to which the reader now knows everything
 *     event: changes
 *     data: {"from":104,"to":105,"timeMs":...,"changes":[[105,"0123456789abcdef"]]}
 *
 *     event: heartbeat                              nothing else happened up to this position, at this time
 *     data: {"log":"...","timeMs":...,"position":105}
 *
 *     event: gap                                    changes are missing here: fetch the head. It has no id, so a
 *     data: {"position":105,"timeMs":...}           reader who comes back before he did is told again
 *
 * All readers are sent the same bytes, made once. Who does not read is cut when too much waits for him, and resumes.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Store } from '@freshet/core/store'
import { type ChangesEvent, FreshetError, type Position } from '@freshet/protocol'
import { describeError, type Log } from '../operations/log.js'
import type { ServerSettings } from '../settings.js'
import type { LogFollower } from './log-follower.js'

export interface EventStreamsOptions {
  readonly store: Store
  readonly follower: LogFollower
  readonly settings: ServerSettings
  readonly log: Log
}

export class EventStreams {
  readonly #store: Store
  readonly #follower: LogFollower
  readonly #settings: ServerSettings
  readonly #log: Log
  readonly #clients = new Set<ServerResponse>()
  readonly #stopFollowing: () => void
  #sent: Position = 0
  #heartbeat: NodeJS.Timeout | undefined
  #push: NodeJS.Timeout | undefined
  #isStopping = false
  cut = 0

  constructor({ store, follower, settings, log }: EventStreamsOptions) {
    this.#store = store
    this.#follower = follower
    this.#settings = settings
    this.#log = log
    this.#stopFollowing = follower.onProgress(() => this.#pushSoon())
  }

  get size(): number {
    return this.#clients.size
  }

  /** The follower must have caught up. Throws SERVER_BUSY, SERVER_STOPPING. */
  open(response: ServerResponse, after: Position | undefined, headers: readonly string[]): void {
    this.#checkRoom()
    response.writeHead(200, [
      ...['Content-Type', 'text/event-stream', 'Cache-Control', 'no-store', 'X-Accel-Buffering', 'no'],
      ...headers,
    ])
    this.#pushNow()
    response.write(`retry: 1000\n\n${this.#missedAfter(after)}${this.#heartbeatText()}`)
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
    if (this.#clients.size < this.#settings.eventClientsMax) return
    throw new FreshetError(
      'SERVER_BUSY',
      'As many readers as allowed are connected. Poll /coherence, or come back later.',
      {
        details: { retryAfterS: 5 },
      },
    )
  }

  #missedAfter(after: Position | undefined): string {
    const { position } = this.#follower
    if (after === undefined || after === position) return ''
    if (after > position) return this.#gapText()
    return this.#changesText(after)
  }

  #changesText(from: Position): string {
    const { sketch } = this.#follower
    const changes = sketch.changesAfter(from)
    if (changes === undefined) return this.#gapText()
    const event: ChangesEvent = { from, to: sketch.position, timeMs: this.#follower.asOfMs, changes }
    return `id: ${event.to}\nevent: changes\ndata: ${JSON.stringify(event)}\n\n`
  }

  #gapText(): string {
    const { asOfMs: timeMs, position } = this.#follower
    return `event: gap\ndata: ${JSON.stringify({ position, timeMs })}\n\n`
  }

  #heartbeatText(): string {
    const { asOfMs: timeMs, position } = this.#follower
    const beat = { log: this.#store.log, timeMs, position }
    return `event: heartbeat\ndata: ${JSON.stringify(beat)}\n\n`
  }

  #pushSoon(): void {
    if (this.#push || this.#clients.size === 0) return
    this.#push = setTimeout(() => this.#pushNow(), this.#settings.eventIntervalMs)
  }

  /** Brings all clients to the follower's position. */
  #pushNow(): void {
    clearTimeout(this.#push)
    this.#push = undefined
    const from = this.#sent
    this.#sent = this.#follower.position
    if (this.#clients.size > 0 && from !== this.#sent) this.#broadcast(this.#changesText(from))
  }

  async #beat(): Promise<void> {
    try {
      await this.#follower.catchUp()
      this.#pushNow()
      this.#broadcast(this.#heartbeatText())
    } catch (error) {
      this.#log.write('error', 'heartbeat failed', describeError(error))
    }
  }

  #broadcast(text: string): void {
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
    clearInterval(this.#heartbeat)
    this.#heartbeat = undefined
  }
}

/** Where a reader left off: what the browser sends when it reconnects counts more than the URL, which stays the same. */
export function resumePosition(request: IncomingMessage, after: Position | undefined): Position | undefined {
  const text = request.headers['last-event-id']
  if (typeof text !== 'string' || !/^[0-9]{1,15}$/.test(text)) return after
  return Math.max(Number(text), after ?? 0)
}
