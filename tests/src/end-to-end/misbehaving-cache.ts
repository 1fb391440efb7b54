/**
 * A caching proxy that does, at random, everything that caches were measured to do, and a little more: it ignores what requests
 * say about caching, serves past expiry, lets requests share an earlier answer, lets a slow and older answer overwrite a newer
 * one, loses headers, and takes its time. Readers rely on three things: it distinguishes URLs with different queries, it serves
 * past expiry no longer than the server's slack allows, and it keeps positions. If it loses the position of one object three
 * times in a row, the reader refuses the answer.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface MisbehavingCacheOptions {
  readonly origin: string
  /** How long it serves past expiry. */
  readonly graceMs: number
  readonly random: () => number
  /** The share of answers from which it removes `Freshet-Position`; default a fifth. */
  readonly positionsLost?: number
  /** Makes it treat URLs with different queries as the same. */
  readonly leavesOutQueries?: boolean
}

export interface MisbehavingCache {
  readonly url: string
  readonly hits: number
  readonly misses: number
  stop(): Promise<void>
}

interface Kept {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
  readonly storedAtMs: number
  readonly keptUntilMs: number
}

type Fetched = Omit<Kept, 'storedAtMs' | 'keptUntilMs'>

const DELAY_MS_MAX = 60
const POSITIONS_LOST = 0.2

export async function startMisbehavingCache(options: MisbehavingCacheOptions): Promise<MisbehavingCache> {
  const cache = new Cache(options)
  const server = createServer((request, response) => {
    cache.answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get hits() {
      return cache.hits
    },
    get misses() {
      return cache.misses
    },
    stop: () => stop(server),
  }
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise(resolve => server.close(() => resolve()))
}

class Cache {
  readonly #options: MisbehavingCacheOptions
  readonly #kept = new Map<string, Kept>()
  readonly #underWay = new Map<string, Promise<Fetched>>()
  hits = 0
  misses = 0

  constructor(options: MisbehavingCacheOptions) {
    this.#options = options
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await read(request)
    if (request.method !== 'GET') return this.#reply(response, await this.#forward(request, body))
    const url = request.url ?? '/'
    const name = this.#options.leavesOutQueries ? url.split('?')[0]! : url
    const kept = this.#kept.get(name)
    if (kept && performance.now() < kept.keptUntilMs) {
      this.hits++
      const ageS = Math.floor((performance.now() - kept.storedAtMs) / 1000)
      return this.#reply(response, { ...kept, headers: { ...kept.headers, age: `${ageS}` } })
    }
    this.misses++
    return this.#reply(response, await this.#fill(name, request))
  }

  /** A request during a fetch usually shares its answer; the last answer to arrive is kept, however old. */
  #fill(name: string, request: IncomingMessage): Promise<Fetched> {
    const { random } = this.#options
    const joined = this.#underWay.get(name)
    if (joined && random() < 0.8) return joined
    const filling = this.#forward(request, Buffer.alloc(0)).then(async fetched => {
      if (random() < 0.3) await sleep(random() * DELAY_MS_MAX)
      this.#keep(name, fetched)
      return fetched
    })
    this.#underWay.set(name, filling)
    const done = () => this.#underWay.delete(name)
    filling.then(done, done)
    return filling
  }

  #keep(name: string, fetched: Fetched): void {
    const cacheControl = String(fetched.headers['cache-control'] ?? '')
    const maxAgeS = Number(/max-age=(\d+)/.exec(cacheControl)?.[1] ?? 0)
    const isHead = name.startsWith('/coherence') && !this.#options.leavesOutQueries
    if (fetched.status !== 200 || (!maxAgeS && !this.#options.leavesOutQueries) || isHead) return
    const storedAtMs = performance.now()
    this.#kept.set(name, { ...fetched, storedAtMs, keptUntilMs: storedAtMs + maxAgeS * 1000 + this.#options.graceMs })
  }

  #reply(response: ServerResponse, { status, headers, body }: Fetched): void {
    const { random, positionsLost = POSITIONS_LOST } = this.#options
    const sent: Record<string, string | string[]> = {}
    for (const [name, value] of Object.entries(headers)) {
      const isLost = name === 'freshet-position' && random() < positionsLost
      if (value !== undefined && !isLost && !HOP_BY_HOP.includes(name)) sent[name] = value
    }
    response.writeHead(status, sent).end(body)
  }

  #forward(request: IncomingMessage, body: Buffer): Promise<Fetched> {
    const { origin } = this.#options
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => PASSED_ON.includes(name)))
    return new Promise((resolve, reject) => {
      const forwarded = send(origin + request.url, { method: request.method, headers }, reply => {
        read(reply).then(
          text => resolve({ status: reply.statusCode ?? 502, headers: reply.headers, body: text }),
          reject,
        )
      })
      forwarded.once('error', reject)
      forwarded.end(body)
    })
  }
}

const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'date']
/** Nothing about caching. */
const PASSED_ON = ['content-type', 'if-match', 'if-none-match']

async function read(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
