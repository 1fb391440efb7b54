/**
 * One request, one answer: `fetch`, and the meaning of its failures. Reads carry no custom header: it would make browsers ask
 * the server for permission first (a CORS preflight), once per URL.
 */
import { FreshetError, fromProblem } from '@freshet/protocol'
import { untilAborted } from './deadline.js'

/** What `connect` calls instead of the platform's `fetch`: for tests, proxies and agents of Node. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export interface Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'
  /** Path and query, canonical. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
  /** How to use the browser's cache, and caches that follow the headers which this makes the browser send. */
  readonly cache?: 'default' | 'reload' | 'no-store'
}

/** The answer, unchanged. An error status in it comes from a Freshet server: any other was thrown. */
export type Body = string | Uint8Array<ArrayBuffer>

export interface Reply<Read extends Body> {
  readonly status: number
  readonly headers: Headers
  readonly body: Read
  /** The error that the answer reports, if its status is an error. */
  readonly problem: FreshetError | undefined
}

export const JSON_HEADERS: Readonly<Record<string, string>> = { 'content-type': 'application/json' }

export class Transport {
  readonly #fetch: Fetch
  /** Without a slash at the end. */
  readonly base: string

  constructor(fetch: Fetch, base: string) {
    this.#fetch = fetch
    this.base = base
  }

  text(request: Request, signal: AbortSignal): Promise<Reply<string>> {
    return this.#exchange(request, signal, response => response.text())
  }

  bytes(request: Request, signal: AbortSignal): Promise<Reply<Uint8Array<ArrayBuffer>>> {
    return this.#exchange(request, signal, async response => new Uint8Array(await response.arrayBuffer()))
  }

  /** The response itself, for reading it as it arrives. */
  async open(request: Request, signal: AbortSignal): Promise<Response> {
    const { method, target, headers, body, cache = 'default' } = request
    const init: RequestInit = {
      method,
      cache,
      signal,
      credentials: 'omit',
      ...(headers ? { headers } : {}),
      ...(body === undefined ? {} : { body }),
    }
    try {
      return await untilAborted(this.#fetch(this.base + target, init), signal)
    } catch (cause) {
      throw signal.aborted ? signal.reason : unreachable(this.#name(request), cause)
    }
  }

  async #exchange<Read extends Body>(
    request: Request,
    signal: AbortSignal,
    read: (response: Response) => Promise<Read>,
  ): Promise<Reply<Read>> {
    const response = await this.open(request, signal)
    const { status, headers } = response
    try {
      if (response.ok) return { status, headers, body: await untilAborted(read(response), signal), problem: undefined }
      const text = await untilAborted(response.text(), signal)
      const problem = readProblem(text, headers) ?? strange(this.#name(request), status, headers, text)
      return { status, headers, body: undefined as unknown as Read, problem }
    } catch (cause) {
      if (signal.aborted) throw signal.reason
      throw cutOff(this.#name(request), cause)
    }
  }

  #name({ method, target }: Request): string {
    return `${method} ${this.base}${target}`
  }
}

function readProblem(text: string, headers: Headers): FreshetError | undefined {
  try {
    const problem = fromProblem(JSON.parse(text))
    return problem && withRetryAfter(problem, headers)
  } catch {
    // Not JSON, so not from a Freshet server: `strange` describes it.
    return undefined
  }
}

function withRetryAfter(problem: FreshetError, headers: Headers): FreshetError {
  const details = { ...retryAfterOf(headers), ...problem.details }
  return new FreshetError(problem.code, problem.message, { details })
}

function retryAfterOf(headers: Headers): { retryAfterS?: number } {
  const text = headers.get('retry-after')
  return text !== null && /^[0-9]{1,6}$/.test(text) ? { retryAfterS: Number(text) } : {}
}

/** Node reports why a connection failed; browsers, for privacy, do not. */
const NEVER_CONNECTED = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]

function unreachable(name: string, cause: unknown): FreshetError {
  const reason = reasonOf(cause)
  const outcome = NEVER_CONNECTED.includes(reason.code ?? '') ? 'not-done' : 'unknown'
  return new FreshetError(
    'REQUEST_FAILED',
    `${name} got no answer: ${reason.text}. Check that the server is running, and check the address.`,
    { cause, details: { outcome } },
  )
}

function reasonOf(cause: unknown): { readonly text: string; readonly code?: string } {
  const inner = cause instanceof Error ? cause.cause : undefined
  const { code, message } = (inner ?? {}) as { code?: unknown; message?: unknown }
  const text = [cause instanceof Error ? cause.message : String(cause), message, code].filter(
    part => typeof part === 'string' && part !== '',
  )
  return { text: [...new Set(text)].join(', '), ...(typeof code === 'string' ? { code } : {}) }
}

function cutOff(name: string, cause: unknown): FreshetError {
  return new FreshetError('REQUEST_FAILED', `The answer to ${name} was cut off: ${reasonOf(cause).text}.`, {
    cause,
    details: { outcome: 'unknown' },
  })
}

/** An answer that no Freshet server gave. */
function strange(name: string, status: number, headers: Headers, text: string): FreshetError {
  return new FreshetError(
    'REQUEST_FAILED',
    `${name} was answered ${status} by something that is not a Freshet server: ${glimpse(headers, text)}. ` +
      'Check the address, and any proxy on the way.',
    // 429 is the one status by which a proxy reports that it did not pass the request on.
    { details: { status, outcome: status === 429 ? 'not-done' : 'unknown', ...retryAfterOf(headers) } },
  )
}

/** What an unexpected answer looks like, for a message. */
export function glimpse(headers: Headers, text: string): string {
  const type = headers.get('content-type') ?? 'no content type'
  const start = text.replace(/\s+/g, ' ').trim().slice(0, 60)
  return start === '' ? `${type}, empty` : `${type}, beginning with ${JSON.stringify(start)}`
}
