/**
 * Sends a token with requests that need one; loaded only when there is a token. Shared caches do not answer requests with a
 * token. So requests for what everyone may read carry none: the sketch, and the buckets that the last complete head named. A
 * change of the rules makes the next head a complete one. A request that is refused without the token is repeated with it, and
 * from then on all requests carry it, until a head names open buckets again.
 *
 * Data that not everyone may read is `no-store`, so neither this process nor a browser keeps it, and a new token cannot be shown
 * what an old one saw.
 *
 * The token goes only where the connection goes: every address is made from the one given to `connect`, and `fetch` itself
 * removes the header on a redirect to another origin.
 */
import type { OpenBuckets } from '@freshet/protocol'
import type { Fetch } from './transport.js'

/** A token, or a function that gets one: called first, and again after the token was refused. */
export type Authorization = string | (() => string | Promise<string>)

const SKETCH = /^\/(?:coherence|time)(?=[/?]|$)/
/** A namespace, a bucket, and an object or a query. Not `explain`, which is for admins. */
const BUCKET = /^\/db\/([a-z0-9][a-z0-9_-]*)\/([a-z0-9][a-z0-9_-]*)(?:(\/)|\?(?!(?:.*&)?explain\b)|$)/

export class AuthorizedFetch {
  readonly #fetch: Fetch
  readonly #authorization: Authorization
  readonly #base: string
  #current: Promise<string> | undefined
  #open: OpenBuckets | undefined
  #isSketchOpen = true

  /** `base`: the beginning of all addresses. */
  constructor(fetch: Fetch, authorization: Authorization, base: string) {
    this.#fetch = fetch
    this.#authorization = authorization
    this.#base = base
  }

  /** Learns the open buckets from a complete head; undefined if it names none. */
  learn(open: OpenBuckets | undefined): void {
    this.#open = open
  }

  readonly fetch: Fetch = async (url, init) => {
    const target = url.slice(this.#base.length)
    if (init.method === 'GET' && this.#isOpen(target)) {
      const response = await this.#fetch(url, init)
      if (response.status !== 401) return response
      await response.body?.cancel()
      this.#open = undefined
      if (SKETCH.test(target)) this.#isSketchOpen = false
    }
    return this.#sendWithToken(url, init)
  }

  #isOpen(target: string): boolean {
    if (SKETCH.test(target)) return this.#isSketchOpen
    const [, namespace, bucket, slash] = BUCKET.exec(target) ?? []
    if (this.#open === undefined || namespace === undefined) return false
    const fits = (patterns: readonly string[]) =>
      [`${namespace}/${bucket}`, `*/${bucket}`, `${namespace}/*`, '*/*'].some(pattern => patterns.includes(pattern))
    return fits(this.#open.read) && (slash !== undefined || fits(this.#open.list))
  }

  async #sendWithToken(url: string, init: RequestInit): Promise<Response> {
    const asked = this.#current ?? this.#renew()
    const response = await this.#send(url, init, asked)
    if (response.status !== 401 || typeof this.#authorization === 'string') return response
    await response.body?.cancel()
    // Another request may have got a new token meanwhile.
    const isSame = this.#current === asked || this.#current === undefined
    return this.#send(url, init, isSame ? this.#renew() : this.#current!)
  }

  async #send(url: string, init: RequestInit, asked: Promise<string>): Promise<Response> {
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${await asked}`)
    return this.#fetch(url, { ...init, headers })
  }

  /** If getting a token fails, the next request tries again. */
  #renew(): Promise<string> {
    const asked = this.#get()
    this.#current = asked
    asked.catch(() => {
      if (this.#current === asked) this.#current = undefined
    })
    return asked
  }

  async #get(): Promise<string> {
    const token = typeof this.#authorization === 'string' ? this.#authorization : await this.#authorization()
    if (typeof token === 'string' && token !== '') return token
    throw new TypeError(
      'The function in `authorization` must return a token (text). For a user who is not signed in, connect without it.',
    )
  }
}
