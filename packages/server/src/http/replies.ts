/** Sends answers, counts them and logs them. The last layer on the way out. */
import { FreshetError } from '@freshet/protocol'
import { describeError, type Log } from '../monitoring/log.js'
import type { Metrics } from '../monitoring/metrics.js'
import { type Answer, problemAnswer } from './answer.js'
import { ALL_ORIGINS, type Cors } from './cors.js'
import type { Exchange } from './exchange.js'
import { limitHeaders } from './limit-headers.js'
import type { RefusalLog } from './refusal-log.js'
import type { ResponseDeadlines } from './response-deadlines.js'
import { formatHead, type WholeAnswers } from './whole-answers.js'

export interface RepliesOptions {
  readonly cors: Cors
  readonly deadlines: ResponseDeadlines
  readonly metrics: Metrics
  readonly log: Log
  readonly whole: WholeAnswers
  /** Receives every error that a request failed with. */
  readonly onFailure: (thrown: unknown) => void
  readonly refusals: RefusalLog
}

/** How long the rest of a refused body is read, so that its sender receives the refusal. */
const LINGER_MS = 500
/** One character for each byte. */
const ASCII = /^[\x20-\x7e\n]{0,4096}$/

export class Replies {
  readonly #cors: Cors
  readonly #deadlines: ResponseDeadlines
  readonly #metrics: Metrics
  readonly #log: Log
  readonly #whole: WholeAnswers
  readonly #onFailure: (thrown: unknown) => void
  readonly #refusals: RefusalLog
  readonly #logsRequests: boolean
  isStopping = false

  constructor({ cors, deadlines, metrics, log, whole, onFailure, refusals }: RepliesOptions) {
    this.#refusals = refusals
    this.#cors = cors
    this.#deadlines = deadlines
    this.#metrics = metrics
    this.#log = log
    this.#whole = whole
    this.#onFailure = onFailure
    this.#logsRequests = log.level === 'request'
  }

  send(exchange: Exchange, answer: Answer): void {
    const { response, startedMs } = exchange
    if (response.destroyed || response.headersSent) return
    if (answer.isCacheable && !this.#deadlines.isInTime(startedMs)) {
      response.destroy()
      return
    }
    const isUnread = exchange.hasBody && !exchange.request.complete
    const mustClose = this.isStopping || isUnread
    const headers = [...this.#headers(exchange, answer, mustClose), ...lengthOf(answer)]
    const isShort = typeof answer.body === 'string' && ASCII.test(answer.body) && !mustClose
    if (isShort && this.#whole.canSend(exchange.request, response)) {
      this.#whole.send(response, answer.status, formatHead(answer.status, headers), answer.body as string)
    } else {
      response.writeHead(answer.status, headers)
      if (isUnread) linger(exchange, answer.body)
      else if (answer.body === undefined) response.end()
      else response.end(answer.body)
    }
    if (answer.isCacheable) this.#deadlines.watch(response, startedMs)
    this.record(exchange, answer.status)
  }

  /** For a body that the caller of this method sends piece by piece. False: the client is gone, or was answered already. */
  begin(exchange: Exchange, answer: Omit<Answer, 'body' | 'isCacheable'>): boolean {
    const { response } = exchange
    if (response.destroyed || response.headersSent) return false
    const headers = this.#headers(exchange, answer, this.isStopping)
    response.writeHead(answer.status, headers)
    this.record(exchange, answer.status)
    return true
  }

  /** Answers with the error. */
  fail(exchange: Exchange, thrown: unknown): void {
    const error = this.presentable(exchange, thrown)
    this.#refusals.note(exchange, error)
    this.send(exchange, problemAnswer(error, exchange.requestId))
  }

  /** The error as the client may see it. Details that the client does not need are logged instead. */
  presentable(exchange: Exchange, thrown: unknown): FreshetError {
    this.#onFailure(thrown)
    const error = presentable(thrown)
    if (error !== thrown) {
      const { method, request } = exchange
      const fields = { ...idsOf(exchange), method, url: request.url, ...describeError(thrown) }
      this.#log.write('error', 'request failed', fields)
    }
    return error
  }

  record(exchange: Exchange, status: number): void {
    const tookMs = performance.now() - exchange.startedMs
    this.#metrics.countRequest(exchange.route, exchange.method, status, tookMs)
    if (isReadOfData(exchange, status)) this.#metrics.ways.count(exchange.request.rawHeaders, status)
    if (this.#logsRequests) this.logRequest(exchange, status, tookMs)
  }

  logRequest(exchange: Exchange, status: number, tookMs: number): void {
    const { method, request } = exchange
    const remote = request.socket.remoteAddress
    const ms = Math.round(tookMs * 1000) / 1000
    this.#log.write('request', 'request', { ...idsOf(exchange), method, url: request.url, status, ms, remote })
  }

  #headers(exchange: Exchange, answer: Answer, mustClose: boolean): string[] {
    const cors = answer.isForAllOrigins ? ALL_ORIGINS : this.#cors.headers(exchange.request)
    const headers = [...answer.headers, ...cors]
    // A cached answer would carry the id of another request.
    if (!answer.isCacheable) headers.push('X-Request-Id', exchange.requestId)
    // A 429 already reports the limit that refused the request.
    if (!answer.isCacheable && answer.status !== 429) headers.push(...limitHeaders(exchange.limitsLeft))
    if (mustClose) headers.push('Connection', 'close')
    return headers
  }
}

function lengthOf({ status, body }: Answer): readonly string[] {
  if (status === 204 || status === 304) return []
  return ['Content-Length', `${body === undefined ? 0 : Buffer.byteLength(body)}`]
}

function isReadOfData({ route, method }: Exchange, status: number): boolean {
  return (status === 200 || status === 304) && method === 'GET' && route.startsWith('/db')
}

function idsOf({ requestId, traceId }: Exchange): { readonly requestId: string; readonly traceId?: string } {
  return traceId === undefined ? { requestId } : { requestId, traceId }
}

/** Closing a connection with unread bytes resets it, and the refusal may be lost. So this reads on for a moment. */
function linger({ request, response }: Exchange, body: string | Uint8Array | undefined): void {
  if (body !== undefined) response.write(body)
  const finish = () => {
    clearTimeout(timer)
    response.end()
  }
  const timer = setTimeout(finish, LINGER_MS)
  request.once('end', finish)
  request.once('close', finish)
  request.on('error', finish)
  request.resume()
}

/** The error as a client may see it: without paths, stack or internal details. */
function presentable(thrown: unknown): FreshetError {
  if (!(thrown instanceof FreshetError)) {
    return new FreshetError(
      'INTERNAL',
      'The server had an internal error. Its log has the details under this request id.',
    )
  }
  if (!thrown.code.startsWith('STORE_')) return thrown
  return new FreshetError(thrown.code, 'The store cannot do this at the moment. The log of the server says why.', {
    details: { retryAfterS: 5, ...(thrown.details.outcome !== undefined && { outcome: thrown.details.outcome }) },
  })
}
