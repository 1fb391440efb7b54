/**
 * Sends the answers that readers request every second, with no header that they can do without. Otherwise, nearly all of an
 * answer's 600 bytes would be headers. Left out are:
 *
 * - the list of headers that pages may read, since these answers have none worth reading, and all of CORS for clients that are
 *   not a page of another origin;
 * - the id of the request, and the position, which is in the body;
 * - how long the connection is kept open, if the client used the same connection a moment ago, and so will not close it soon.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { JSON_TYPE, NO_STORE } from '../../http/answer.js'
import type { Cors } from '../../http/cors.js'
import type { Exchange } from '../../http/exchange.js'
import type { Replies } from '../../http/replies.js'

/**
 * Clients that do not know how long the server keeps a connection close it when it was idle for longer: Node's after 4 seconds.
 */
const MOMENT_MS = 2000
const NEEDED_FOR_CORS = ['Access-Control-Allow-Origin', 'Vary']

export class BriefAnswers {
  readonly #cors: Cors
  readonly #replies: Replies
  /** When each connection was last used for this, by `performance.now()`. */
  readonly #usedAtMs = new WeakMap<Socket, number>()

  constructor(cors: Cors, replies: Replies) {
    this.#cors = cors
    this.#replies = replies
  }

  send(exchange: Exchange, value: unknown): void {
    const { response, request, startedMs } = exchange
    if (response.destroyed) return
    const body = JSON.stringify(value)
    const headers = ['Content-Type', JSON_TYPE, ...NO_STORE, 'Content-Length', `${Buffer.byteLength(body)}`]
    if (this.#replies.isStopping) headers.push('Connection', 'close')
    else if (this.#wasHereAMomentAgo(request.socket, startedMs)) response.removeHeader('Connection')
    response.writeHead(200, [...headers, ...briefCors(this.#cors, request)]).end(body)
    this.#replies.record(exchange, 200)
  }

  #wasHereAMomentAgo(socket: Socket, nowMs: number): boolean {
    const usedAtMs = this.#usedAtMs.get(socket) ?? Number.NEGATIVE_INFINITY
    this.#usedAtMs.set(socket, nowMs)
    return nowMs - usedAtMs < MOMENT_MS
  }
}

/** The headers that a page needs to read an answer without readable headers; none if the client is not a page. */
export function briefCors(cors: Cors, request: IncomingMessage): readonly string[] {
  if (request.headers.origin === undefined && cors.constant) return []
  const headers = cors.headers(request)
  return headers.filter((_, i) => NEEDED_FOR_CORS.includes(headers[i - (i % 2)]!))
}
