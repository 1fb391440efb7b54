/**
 * Answers that leave as one string in one write: the head, for objects made once for many requests, then the date, then the body.
 * Node would print and check the headers anew for each request, and hand body and end to the system as two chunks; without
 * that a server answers half as many reads again (`npm run bench -- http`).
 *
 * It takes one field of Node's response that is not documented, `_header`, the head still to be sent; the ecosystem has
 * read it for a decade. Should a Node come that has it no more, `canSend` says no and answers go the ordinary way.
 */
import { type IncomingMessage, ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'

const SECOND_MS = 1000

export class WholeAnswers {
  readonly #keepAlive: string
  readonly #isPossible = hasHeaderField()
  /** The end of every head, and how long it is true, by `performance.now()`. */
  #tail = ''
  #tailUntilMs = 0

  constructor(keepAliveMs: number) {
    this.#keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / SECOND_MS)}\r\n\r\n`
  }

  /** Not to those who want the connection closed, nor to HEAD. */
  canSend({ method }: IncomingMessage, { shouldKeepAlive }: ServerResponse): boolean {
    return this.#isPossible && shouldKeepAlive && method !== 'HEAD'
  }

  /** `head` comes from `formatHead`; the body has one character for each byte, and its length is in the head. */
  send(response: ServerResponse, status: number, head: string, body: string): void {
    response.statusCode = status
    ;(response as unknown as { _header: string })._header = head + this.#tailNow() + body
    response.end()
  }

  #tailNow(): string {
    const nowMs = performance.now()
    if (nowMs >= this.#tailUntilMs) {
      const date = new Date()
      this.#tail = `Date: ${date.toUTCString()}\r\n${this.#keepAlive}`
      this.#tailUntilMs = nowMs + SECOND_MS - date.getUTCMilliseconds()
    }
    return this.#tail
  }
}

/** The status line and these headers, which it checks: names and values in turn. */
export function formatHead(status: number, headers: readonly string[]): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
  for (let i = 0; i < headers.length; i += 2) {
    const [name, value] = [headers[i]!, headers[i + 1]!]
    validateHeaderName(name)
    validateHeaderValue(name, value)
    head += `${name}: ${value}\r\n`
  }
  // One flat string, rather than a tree of its parts to be copied together for each answer.
  return Buffer.from(head, 'latin1').toString('latin1')
}

/** Whether this Node takes a head from there; `headersSent` is its own, documented, way to tell. */
function hasHeaderField(): boolean {
  const response = new ServerResponse({ method: 'GET' } as IncomingMessage)
  if ((response as unknown as { _header: unknown })._header !== null || response.headersSent) return false
  ;(response as unknown as { _header: string })._header = 'HTTP/1.1 200 OK\r\n\r\n'
  return response.headersSent
}
