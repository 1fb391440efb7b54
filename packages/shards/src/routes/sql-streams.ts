/**
 * `Accept: application/x-ndjson`: the rows of a query line by line, as they arrive.
 *
 *     {"columns":["id","name"],"types":["integer","text"],"versions":{"people":12,"*schema":3},"position":12}
 *     [1,"Ann"]
 *     [2,"Bob"]
 *
 * A failure before the first line is answered like any error. After it, the last line has the error, and the connection is closed
 * without the last chunk, so that no HTTP client takes a part for the whole:
 *
 *     {"error":{"code":"SHARD_UNAVAILABLE",...}}
 *
 * No more is read from the shards than the reader takes. The snapshots are released when the reader is gone, or took too long.
 */
import type { ServerResponse } from 'node:http'
import { type FreshetError, toProblem } from '@freshet/protocol'
import {
  type Exchange,
  NO_SNIFF,
  NO_STORE,
  overLimit,
  type Replies,
  type ServerSettings,
} from '@freshet/server/capabilities'
import type { RowStream } from '../coordinator/row-stream.js'
import { headText, rowText } from './sql-answers.js'

/** How long a reader may take to receive the last line. */
const LAST_LINE_MS = 1000

/** The longest time of a timer. */
const TIMER_MS_MAX = 2 ** 31 - 1

export class SqlStreams {
  readonly #replies: Replies
  readonly #settings: ServerSettings
  /** How many streams are under way. */
  size = 0
  /** How many streams were ended with an error, or because they took too long. */
  cut = 0

  constructor(replies: Replies, settings: ServerSettings) {
    this.#replies = replies
    this.#settings = settings
  }

  /** `open` returns the rows, or undefined if they cannot be streamed; then nothing is answered. Throws SERVER_BUSY. */
  async send(
    exchange: Exchange,
    open: () => Promise<RowStream | undefined>,
    headersOf: (stream: RowStream) => readonly string[],
  ): Promise<boolean> {
    this.#checkRoom()
    this.size++
    try {
      const stream = await open()
      if (stream === undefined) return false
      try {
        const isWanted = this.#replies.begin(exchange, { status: 200, headers: headersOf(stream) })
        if (isWanted) await this.#write(exchange, stream)
      } finally {
        await stream.close()
      }
      return true
    } finally {
      this.size--
    }
  }

  async #write(exchange: Exchange, stream: RowStream): Promise<void> {
    const { response } = exchange
    if (exchange.method === 'HEAD') {
      response.end()
      return
    }
    const end = new StreamEnd(response, this.#settings.sqlStreamMsMax)
    try {
      await writeRows(response, stream, end)
      response.end()
    } catch (error) {
      if (response.destroyed) return
      this.cut++
      await Promise.all([stream.close(), cutOff(response, this.#replies.presentable(exchange, error))])
    } finally {
      end.forget()
    }
  }

  #checkRoom(): void {
    const { sqlStreamsMax } = this.#settings
    if (this.size < sqlStreamsMax) return
    throw overLimit({
      code: 'SERVER_BUSY',
      limit: 'sqlStreamsMax',
      what: `${sqlStreamsMax} queries are being streamed, the most that are allowed at once.`,
      instead: 'Try again later',
      details: { retryAfterS: 1, sqlStreamsMax },
    })
  }
}

/** Ends a stream before its last row if its reader is gone, or took too long. */
class StreamEnd {
  readonly #timer: NodeJS.Timeout
  #early: Error | undefined
  #reject: (error: Error) => void = () => undefined

  constructor(response: ServerResponse, msMax: number) {
    const end = (error: Error) => {
      this.#early ??= error
      this.#reject(this.#early)
    }
    response.once('close', () => end(new Error('its reader is gone')))
    this.#timer = setTimeout(() => end(tookTooLong(msMax)), Math.min(msMax, TIMER_MS_MAX))
  }

  /**
   * Settles as the work does; or, if the stream ends first, rejects with the reason. One call at a time. Not by `Promise.race`: a
   * promise that all calls wait for would keep the rows of each in memory.
   */
  before<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#reject = reject
      if (this.#early) reject(this.#early)
      work.then(resolve, reject)
    })
  }

  forget(): void {
    clearTimeout(this.#timer)
  }
}

async function writeRows(response: ServerResponse, stream: RowStream, end: StreamEnd): Promise<void> {
  const { types } = stream
  let text = `${headText(stream)}\n`
  for (;;) {
    const rows = await end.before(stream.next())
    for (const row of rows) text += `${rowText(row, types)}\n`
    if (text !== '' && !response.write(text)) await end.before(drained(response))
    if (rows.length === 0) return
    text = ''
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    response.once('drain', resolve)
  })
}

/**
 * Writes a last line, and waits for the reader to close: if the server closed at once, the line might be lost with the
 * connection.
 */
async function cutOff(response: ServerResponse, error: FreshetError): Promise<void> {
  response.write(`${JSON.stringify({ error: toProblem(error) })}\n`)
  await new Promise<void>(resolve => {
    const timer = setTimeout(resolve, LAST_LINE_MS)
    response.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
  response.destroy()
}

export function streamHeaders(more: readonly string[]): readonly string[] {
  return ['Content-Type', NDJSON_TYPE, ...NO_STORE, ...NO_SNIFF, 'X-Accel-Buffering', 'no', ...more]
}

export const NDJSON_TYPE = 'application/x-ndjson'

function tookTooLong(msMax: number): FreshetError {
  return overLimit({
    code: 'LIMIT_EXCEEDED',
    limit: 'sqlStreamMsMax',
    what: `The rows were not taken within ${msMax} ms, the most that a stream may last.`,
    instead: 'Narrow the query, read faster',
    details: { sqlStreamMsMax: msMax },
  })
}
