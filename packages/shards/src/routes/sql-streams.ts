/**
 * `Accept: application/x-ndjson`: the rows of a query line by line, as they come.
 *
 *     {"columns":["id","name"],"types":["integer","text"],"versions":{"people":12,"*schema":3},"position":12}
 *     [1,"Ann"]
 *     [2,"Bob"]
 *
 * What goes wrong before the first line is answered as any error. After it, the last line says what, and the connection is closed without
 * the last chunk, so that no reader of HTTP takes a part for the whole:
 *
 *     {"error":{"code":"SHARD_UNAVAILABLE",...}}
 *
 * No more is read from the shards than the reader takes. His snapshots are let go of when he is gone, and when his time is over.
 */
import type { ServerResponse } from 'node:http'
import { FreshetError, toProblem } from '@freshet/protocol'
import { type Exchange, NO_SNIFF, NO_STORE, type Replies, type ServerSettings } from '@freshet/server/capabilities'
import type { RowStream } from '../coordinator/row-stream.js'
import { headText, rowText } from './sql-answers.js'

/** So long a reader has to take the last line. */
const LAST_LINE_MS = 1000

/** No timer is longer. */
const TIMER_MS_MAX = 2 ** 31 - 1

export class SqlStreams {
  readonly #replies: Replies
  readonly #settings: ServerSettings
  /** Those that are under way. */
  size = 0
  /** How many were ended with an error, or for the time they took. */
  cut = 0

  constructor(replies: Replies, settings: ServerSettings) {
    this.#replies = replies
    this.#settings = settings
  }

  /** `open` gives the rows; undefined: they cannot be streamed, and nothing was answered. Throws SERVER_BUSY. */
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
    throw new FreshetError(
      'SERVER_BUSY',
      `${sqlStreamsMax} queries are being streamed, which is as many as are allowed at once. Come back later.`,
      { details: { retryAfterS: 1, sqlStreamsMax } },
    )
  }
}

/** What ends a stream before its last row: its reader is gone, or took too long. */
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
   * As the work ends; or, if it comes first, with a rejection that says why there is no more. One call at a time. Not by
   * `Promise.race`: one promise that all of them wait for would hold on to the rows of each.
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

/** With a last line. Who reads it goes by himself: a connection that is closed at once may take it along. */
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
  return new FreshetError(
    'LIMIT_EXCEEDED',
    `The rows were not taken within ${msMax} ms, which is as long as the shards may be kept at one state. Narrow the query, or read faster.`,
    { details: { sqlStreamMsMax: msMax } },
  )
}
