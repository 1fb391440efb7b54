/**
 * `POST /doctor`: examines, from the server, what a cache does with the changes that the server sends it. The examination
 * itself is that of the command `freshet doctor`, which passes it in. Only caches that the server was configured with are
 * examined, so no caller can make the server send requests to another address.
 *
 * The answer is a line of JSON for each finding, as it is found, and then one with all of them.
 */
import { FreshetError } from '@freshet/protocol'
import type { Answer } from '../../http/answer.js'
import { NO_SNIFF, NO_STORE } from '../../http/answer.js'
import type { Cors } from '../../http/cors.js'
import type { Exchange } from '../../http/exchange.js'
import type { Replies } from '../../http/replies.js'
import { readBody } from '../../http/request-body.js'
import type { CacheConfig } from '../../invalidation/cache-config.js'
import { readMembers } from '../../json/json-text.js'
import type { Call } from '../../routing/call.js'

export interface DoctorTask {
  /** The URL at which readers reach the cache. */
  readonly through: string
  /** The URL of this server, without the caches. */
  readonly server: string
  readonly purgeSecret: string | undefined
  /** The caller's token: the examination writes in the caller's name. */
  readonly token: string | undefined
  readonly signal: AbortSignal
  /** Called with each finding. `total`: how many there will be. */
  readonly onFinding: (finding: unknown, total: number) => void
}

/** Resolves with everything that was found. Throws REQUEST_FAILED and other errors, with advice. */
export type Doctor = (task: DoctorTask) => Promise<unknown>

export interface DoctorRouteOptions {
  readonly doctor: Doctor | undefined
  readonly caches: readonly CacheConfig[]
  readonly replies: Replies
  readonly cors: Cors
}

const BODY_BYTES_MAX = 4096

export class DoctorRoute {
  readonly #options: DoctorRouteOptions
  #isBusy = false

  constructor(options: DoctorRouteOptions) {
    this.#options = options
  }

  /** Throws BODY_INVALID, SERVER_BUSY, ROUTE_UNKNOWN. */
  async post({ exchange }: Call): Promise<Answer | undefined> {
    const { doctor } = this.#options
    if (doctor === undefined) throw new FreshetError('ROUTE_UNKNOWN', 'This server has no doctor. Run: freshet doctor')
    const { cache } = readMembers(await readBody(exchange, BODY_BYTES_MAX), 2)
    const config = this.#options.caches.find(({ name }) => name === cache)
    const through = config && throughOf(config)
    if (config === undefined || through === undefined) throw noSuchCache(this.#options.caches)
    if (this.#isBusy) {
      throw new FreshetError('SERVER_BUSY', 'The doctor is examining a cache already. Wait until it is done.', {
        details: { retryAfterS: 5 },
      })
    }
    this.#isBusy = true
    try {
      await this.#examine(exchange, doctor, { through, purgeSecret: config.secret })
    } finally {
      this.#isBusy = false
    }
    return undefined
  }

  async #examine(exchange: Exchange, doctor: Doctor, task: Pick<DoctorTask, 'through' | 'purgeSecret'>): Promise<void> {
    const { replies, cors } = this.#options
    const { request, response } = exchange
    const stopped = new AbortController()
    response.once('close', () => stopped.abort(new Error('The client has disconnected.')))
    response.writeHead(200, [
      ...['Content-Type', 'application/x-ndjson', ...NO_STORE, ...NO_SNIFF, 'X-Accel-Buffering', 'no'],
      ...cors.headers(request),
    ])
    const say = (line: unknown) => void response.write(`${JSON.stringify(line)}\n`)
    try {
      const onFinding: DoctorTask['onFinding'] = (finding, total) => say({ finding, total })
      const own = { server: ownAddress(exchange), token: tokenOf(exchange), signal: stopped.signal }
      say({ report: await doctor({ ...task, ...own, onFinding }) })
    } catch (error) {
      if (!stopped.signal.aborted) say({ error: error instanceof FreshetError ? error.message : 'The doctor failed.' })
    }
    response.end()
    replies.record(exchange, 200)
  }
}

export function throughOf({ sites, url }: CacheConfig): string | undefined {
  return (sites?.[0] ?? url)?.replace(/\/$/, '')
}

function tokenOf({ request: { headers } }: Exchange): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
}

function ownAddress({ request: { socket } }: Exchange): string {
  const { localAddress = '127.0.0.1', localPort } = socket
  return `http://${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
}

function noSuchCache(caches: readonly CacheConfig[]): FreshetError {
  const names = caches.filter(config => throughOf(config) !== undefined).map(({ name }) => name)
  const known = names.length === 0 ? 'it knows the address of none' : names.join(', ')
  return new FreshetError(
    'BODY_INVALID',
    `Send {"cache":NAME} with one of the caches that this server notifies of changes: ${known}.`,
  )
}
