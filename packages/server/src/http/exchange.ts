/** One request and its response, with what the server learns about them on the way. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { BodyIntake } from './body-intake.js'
import type { LimitLeft } from './limit-headers.js'

const REQUEST_ID = /^[A-Za-z0-9._~-]{1,128}$/
/** W3C Trace Context: version, trace, span, flags. */
const TRACE_PARENT = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/

export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** By `performance.now()`. */
  readonly startedMs: number
  /** The pattern of its route, for metrics. */
  route = 'none'
  /** The subject of its token, even if the request is refused; empty: without a token. */
  subject = ''
  /** What is left of the limits that the request counts towards. */
  limitsLeft: LimitLeft[] = []
  /** Receives its body; undefined if the request cannot have one. */
  readonly intake: BodyIntake | undefined
  #requestId: string | undefined

  constructor(request: IncomingMessage, response: ServerResponse, startedMs: number, intake?: BodyIntake) {
    this.request = request
    this.response = response
    this.startedMs = startedMs
    this.intake = intake
  }

  get method(): string {
    return this.request.method ?? 'GET'
  }

  /** The client's own id, if it is valid; otherwise a new one. */
  get requestId(): string {
    if (this.#requestId === undefined) {
      const given = this.request.headers['x-request-id']
      this.#requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : newRequestId()
    }
    return this.#requestId
  }

  /** The trace that the request belongs to, if it names one. */
  get traceId(): string | undefined {
    const given = this.request.headers.traceparent
    return typeof given === 'string' ? TRACE_PARENT.exec(given)?.[1] : undefined
  }

  get hasBody(): boolean {
    const { headers } = this.request
    const length = headers['content-length']
    return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
  }
}

/** Random and of fixed length: a counter would reveal to every caller how many requests the server gets. */
export function newRequestId(): string {
  return randomUUID()
}
