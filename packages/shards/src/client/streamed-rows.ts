/**
 * Rows of a query as they arrive, line by line: a line about the result, one row in each line, and, if the stream was cut off,
 * the reason. No more is read than is requested, so that the server, and the shards behind it, wait for the reader.
 */

import { Deadline, ofReading, type Request, type Transport, untilAborted } from '@freshet/client/requests'
import { FreshetError, fromProblem, type SqlStreamHead } from '@freshet/protocol'

export interface StreamOptions {
  readonly transport: Transport
  readonly request: Request
  /** For messages. */
  readonly what: string
  /** How long to wait for anything to arrive. */
  readonly timeoutMs: number
  readonly closed: AbortSignal
}

type Cell = string | number | boolean | null

export class StreamedRows {
  readonly #options: StreamOptions
  readonly #controller = new AbortController()
  readonly #decoder = new TextDecoder()
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  #partial = ''
  #lines: string[] = []

  constructor(options: StreamOptions) {
    this.#options = options
  }

  /** Throws the problem that the server answers with, REQUEST_FAILED, REQUEST_TIMEOUT, ANSWER_INVALID. */
  async open(): Promise<SqlStreamHead> {
    const { transport, request, what } = this.#options
    const response = await this.#inTime(() => transport.open(request, this.#controller.signal))
    if (!response.ok)
      throw fromProblem(parse(await this.#inTime(() => response.text()))) ?? foreign(what, response.status)
    this.#reader = response.body?.getReader()
    const head = parse((await this.#nextLine()) ?? '') as SqlStreamHead | undefined
    if (!Array.isArray(head?.columns) || typeof head.versions !== 'object') throw strange(what)
    return head
  }

  /** Undefined if there are no more. Throws as `open` does. */
  async next(): Promise<readonly Cell[] | undefined> {
    const line = await this.#nextLine()
    if (line === undefined) return undefined
    const row = parse(line)
    if (Array.isArray(row)) return row
    throw fromProblem((row as { readonly error?: unknown } | undefined)?.error) ?? strange(this.#options.what)
  }

  /** Ends the request, so that the server stops reading from the shards. */
  close(): void {
    this.#controller.abort()
  }

  async #nextLine(): Promise<string | undefined> {
    while (this.#lines.length === 0) {
      const { done, value } = (await this.#inTime(async () => this.#reader?.read())) ?? { done: true }
      if (done) {
        if (this.#partial === '') return undefined
        throw strange(this.#options.what)
      }
      const lines = (this.#partial + this.#decoder.decode(value, { stream: true })).split('\n')
      this.#partial = lines.pop()!
      // Taken from the end.
      this.#lines = lines.reverse()
    }
    return this.#lines.pop()
  }

  async #inTime<Result>(work: () => Promise<Result>): Promise<Result> {
    const { timeoutMs, what, closed } = this.#options
    const deadline = new Deadline({ timeoutMs, what, signals: [closed] })
    try {
      return await untilAborted(work(), deadline.signal)
    } catch (cause) {
      if (deadline.signal.aborted) this.close()
      throw cause instanceof FreshetError ? ofReading(cause) : cutOff(what, cause)
    } finally {
      deadline.end()
    }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The caller reports it.
    return undefined
  }
}

function cutOff(what: string, cause: unknown): FreshetError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new FreshetError('REQUEST_FAILED', `The rows of ${what} were cut off: ${reason}.`, {
    cause,
    details: { outcome: 'not-done' },
  })
}

/** An answer that did not come from a Freshet server. */
function foreign(what: string, status: number): FreshetError {
  return new FreshetError(
    'REQUEST_FAILED',
    `${what} was answered ${status} by something that is not a Freshet server. Check the address, and any proxy on the way.`,
    { details: { status, outcome: 'not-done' } },
  )
}

export function strange(what: string): FreshetError {
  return new FreshetError(
    'ANSWER_INVALID',
    `${what} was answered with something that is not an answer of Freshet. Check the proxies between here and the server.`,
  )
}
