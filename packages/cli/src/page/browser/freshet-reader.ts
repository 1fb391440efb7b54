/** The Freshet client as a reader: what it read, where it came from, and how often it asked what had changed. */
import { connect, type Database, type Fetch } from '@freshet/client'
import { timesOf } from './plain-reader.js'
import { BUCKET, type Product, pathOf } from './products.js'
import type { Reading } from './reading.js'
import { transferSizeOf, whereFrom } from './where-from.js'

/** Reads that begin this much later see the writes of other clients. */
export const STALENESS_MS = 1000

interface SentRequest {
  readonly url: URL
  readonly startedMs: number
  readonly response: Response
}

export class FreshetReader {
  readonly #db: Database
  readonly #log: RequestLog

  private constructor(db: Database, log: RequestLog) {
    this.#db = db
    this.#log = log
  }

  static async open(token: string | undefined): Promise<FreshetReader> {
    const log = new RequestLog()
    const options = { staleness: STALENESS_MS, fetch: log.fetch, ...(token === undefined ? {} : { token }) }
    return new FreshetReader(await connect(location.origin, options), log)
  }

  get token(): string {
    return this.#db.session.token
  }

  get position(): number {
    return this.#db.session.position
  }

  /** Requests for the sketch so far. */
  get sketchRequests(): number {
    return this.#log.sketchRequests
  }

  async read(id: string): Promise<Reading> {
    const beganMs = Date.now()
    const product = await this.#db.bucket<Product>(BUCKET).get(id)
    const { url, startedMs, response } = this.#log.lastOf(pathOf(id))
    const transferSize = await transferSizeOf(url.href, startedMs)
    return {
      id,
      product,
      version: product?.version ?? 0,
      source: whereFrom({ transferSize: transferSize ?? 1, header: name => response.headers.get(name) }),
      url: url.pathname + url.search,
      ...timesOf(response),
      beganMs,
    }
  }
}

/** Records the requests that the client sends. */
class RequestLog {
  readonly #requests = new Map<string, SentRequest>()
  sketchRequests = 0

  lastOf(path: string): SentRequest {
    return this.#requests.get(path)!
  }

  readonly fetch: Fetch = async (address, init) => {
    const startedMs = performance.now()
    const response = await fetch(address, init)
    const url = new URL(address)
    if (url.pathname.startsWith('/coherence')) this.sketchRequests++
    else this.#requests.set(url.pathname, { url, startedMs, response })
    return response
  }
}
