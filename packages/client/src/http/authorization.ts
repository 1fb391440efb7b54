/**
 * Sends a token with requests that need one; loaded only when there is a token. Shared caches do not answer requests with a
 * token. So what everybody may read is asked for without it: the sketch, and the buckets that the last whole head named. A
 * change of the rules makes the next head a whole one. A request that is refused without the token is repeated with it, and
 * from then on all are sent with it, until a head names open buckets again.
 *
 * What not everybody may read is `no-store`, so neither this process nor a browser keeps it, and a new token cannot be shown
 * what an old one saw.
 *
 * The token goes where the connection goes and nowhere else: every address is made of the one given to `connect`, and `fetch` itself
 * takes the header off when it is led to another origin.
 */
import type { OpenBuckets } from '@freshet/protocol'
import type { Fetch } from './transport.js'

/** A token, or what gets one: called first, and again after it was refused. */
export type Authorization = string | (() => string | Promise<string>)

const SKETCH = /^\/(?:coherence|time)(?=[/?]|$)/
/** A namespace, a bucket, and an object or a query; how a query is answered is for admins to know. */
const BUCKET = /^\/db\/([a-z0-9][a-z0-9_-]*)\/([a-z0-9][a-z0-9_-]*)(?:(\/)|\?(?!(?:.*&)?explain\b)|$)/

export class AuthorizedFetch {
  readonly #fetch: Fetch
  readonly #authorization: Authorization
  readonly #base: string
  #current: Promise<string> | undefined
  #open: OpenBuckets | undefined
  #isSketchOpen = true

  /** `base`: what all addresses begin with. */
  constructor(fetch: Fetch, authorization: Authorization, base: string) {
    this.#fetch = fetch
    this.#authorization = authorization
    this.#base = base
  }

  /** Takes note of what a whole head says; undefined if it says nothing. */
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
    // Another request may have got a new one meanwhile.
    const isSame = this.#current === asked || this.#current === undefined
    return this.#send(url, init, isSame ? this.#renew() : this.#current!)
  }

  async #send(url: string, init: RequestInit, asked: Promise<string>): Promise<Response> {
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${await asked}`)
    return this.#fetch(url, { ...init, headers })
  }

  /** One that could not be got is asked for again. */
  #renew(): Promise<string> {
    const asked = this.#get()
    this.#current = asked
    asked.catch(() => {
      if (this.#current === asked) this.#current = undefined
    })
    return asked
  }

  async #get(): Promise<string> {
    return typeof this.#authorization === 'string' ? this.#authorization : this.#authorization()
  }
}
