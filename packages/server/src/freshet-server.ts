/**
 * The server: connects its components, and receives requests. Plain reads go straight to the reader, all others to the router.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Key, Store, StoredValue } from '@freshet/core/store'
import type { AccessConfig } from './access/access.js'
import type { Caller } from './access/caller.js'
import type { RulesMemory } from './access/known-rules.js'
import type { StoredRulesChoice } from './access/put-own-rules.js'
import type { RateLimitConfig } from './access/rate-limits.js'
import type { PageFile, PageFiles } from './api/console/demo-page.js'
import type { Doctor } from './api/console/doctor.js'
import type { AllMetrics } from './api/status/status-routes.js'
import { assembleServer, type ServerAssembly } from './assemble-server.js'
import { answerBroken, refuseTunnel } from './http/broken-requests.js'
import { Exchange } from './http/exchange.js'
import { isPromise } from './http/maybe-promise.js'
import { leaveBodyAlone, type PlainRead, recognisePlainRead } from './http/plain-read.js'
import { keepTicksQuick } from './http/quick-ticks.js'
import { type CacheConfig, readCaches } from './invalidation/cache-config.js'
import { describeError, type Log, SILENT_LOG } from './monitoring/log.js'
import type { MetricFamily } from './monitoring/metrics.js'
import type { AllRecent, RecentItem, RecentKind } from './monitoring/recent.js'
import type { ServerRecordOptions } from './recording/server-recorder.js'
import type { RoutedCall } from './routing/call.js'
import type { JoinCapability } from './routing/capability.js'
import { completeSettings, type ServerSettings } from './settings/server-settings.js'

export interface FreshetServerOptions {
  readonly store: Store
  readonly settings?: Partial<ServerSettings>
  /** Default: no log. See `createJsonLog`. */
  readonly log?: Log
  /** Records what was acknowledged and answered, without the values; for `freshet check`. */
  readonly record?: ServerRecordOptions
  /** Files of the page at `/` and `/demo/...`, by their path below /demo/; `index.html` is the page itself. */
  readonly page?: PageFiles
  /** Files of the pages at `/console`, by their path below it; `index.html` is the page itself. */
  readonly console?: PageFiles
  /** `/client.js`: the client as one ES module. The package `@freshet/client` has it as `@freshet/client/browser`. */
  readonly clientModule?: PageFile
  /** The examination that `POST /doctor` runs. */
  readonly doctor?: Doctor
  /** Caches to notify of every change. Only the keeper does that, but all servers over the same data need the same list. */
  readonly caches?: readonly CacheConfig[]
  /** Access control: docs/guides/access.md. Without it, everybody may do everything. */
  readonly access?: AccessConfig
  /**
   * Default true. False: the server does not write its rules to a store without rules when it starts, because `putOwnRules` has
   * already done that.
   */
  readonly putsRules?: boolean
  /**
   * What the server does with rules in the store if `access` has none. 'refuse' (the default without `access`): it does not
   * start (ACCESS_REQUIRED). 'require' (the default with token keys): it uses them, and does not start if the store has none.
   * 'use': it uses them, if there are any. 'ignore': they remain in the store, and this server lets everybody do everything;
   * for tools that only their user can reach.
   */
  readonly storedRules?: StoredRulesChoice
  /**
   * Keeps the rules in force outside of the store, so that a store that is restored while no server runs opens nothing
   * (docs/guides/backups.md).
   */
  readonly rulesMemory?: RulesMemory
  /** How many requests each address, or the bearer of each token, may send. */
  readonly limits?: RateLimitConfig
  /** Addresses and networks (10.0.0.0/8) whose X-Forwarded-For header is believed. */
  readonly trustedProxies?: readonly string[]
  /** Capabilities that add routes to the server, such as `joinShards` of @freshet/shards. */
  readonly capabilities?: readonly JoinCapability[]
  /**
   * If several processes serve the same data: given the metrics of this process, returns what `/metrics` answers; see
   * `addUpMetrics`.
   */
  readonly allMetrics?: AllMetrics
  /**
   * If several processes serve the same data: given what this process remembers, returns what `/logs` and `/conflicts` answer.
   */
  readonly allRecent?: AllRecent
  /** Called with every request before it is handled, for tracing. It must not throw or answer. */
  readonly onRequest?: (request: IncomingMessage, response: ServerResponse) => void
}

export interface ListenOptions {
  /** 0 picks any free port. */
  readonly port: number
  /** Default 127.0.0.1. */
  readonly host?: string
}

export interface Listening {
  readonly port: number
  readonly host: string
  readonly url: string
}

export interface CloseOptions {
  /** How long requests under way may take to finish. */
  readonly graceMs?: number
  /** How long before that `/ready` fails while all requests are still answered, so that load balancers notice. */
  readonly drainMs?: number
}

export interface FreshetServer {
  /** Reads the change log, then accepts connections. Also in the workers of node:cluster. */
  listen(options: ListenOptions): Promise<Listening>
  /** For a server of your own: a listener of its `request` event. Its `keepAliveTimeout` must be `settings.keepAliveMs`. */
  handle(request: IncomingMessage, response: ServerResponse): void
  /**
   * A read within the process: the value of a key (`shop/products/42`), as a GET would return it now. It may come from the
   * server's memory of recently read objects. The version is its ETag.
   */
  get(key: Key): Promise<StoredValue | undefined>
  /** The metrics of this process, to be added to those of others. */
  readMetrics(): readonly MetricFamily[]
  /** What this process remembers of recent events, to be merged with what others remember. */
  readRecent(kind: RecentKind): readonly RecentItem[]
  /** Stops accepting connections, lets requests under way finish for `graceMs`, ends event streams. The store stays open. */
  close(options?: CloseOptions): Promise<void>
}

export function createFreshetServer({
  store,
  settings = {},
  log = SILENT_LOG,
  page = {},
  console = {},
  clientModule,
  doctor,
  caches = [],
  record,
  allMetrics,
  allRecent,
  access,
  putsRules = true,
  storedRules,
  rulesMemory,
  limits,
  trustedProxies,
  onRequest,
  capabilities = [],
}: FreshetServerOptions): FreshetServer {
  const { mistakes } = readCaches(caches)
  if (mistakes.length > 0) throw new TypeError(`The configuration of the caches has mistakes. ${mistakes.join(' ')}`)
  const complete = completeSettings(settings)
  const parts = {
    store,
    settings: complete,
    log,
    page,
    console,
    clientModule,
    doctor,
    caches,
    record,
    allMetrics,
    allRecent,
    access,
    putsRules,
    storedRules,
    rulesMemory,
    limits,
    trustedProxies,
    capabilities,
  }
  return new HttpServer(assembleServer(parts), onRequest)
}

const GRACE_MS = 10_000
const IDLE_CHECK_MS = 50

class HttpServer implements FreshetServer {
  readonly #parts: ServerAssembly
  readonly #server: Server
  #started: Promise<void> | undefined
  #isReady = false
  #closing: Promise<void> | undefined

  constructor(parts: ServerAssembly, onRequest: FreshetServerOptions['onRequest']) {
    this.#parts = parts
    const { urlBytesMax, headerBytesMax, requestMsMax, keepAliveMs } = parts.settings
    const handle = onRequest
      ? (request: IncomingMessage, response: ServerResponse) => {
          onRequest(request, response)
          this.handle(request, response)
        }
      : (request: IncomingMessage, response: ServerResponse) => this.handle(request, response)
    this.#server = createServer({
      maxHeaderSize: urlBytesMax + headerBytesMax,
      requestTimeout: requestMsMax,
      headersTimeout: requestMsMax,
      keepAliveTimeout: keepAliveMs,
      connectionsCheckingInterval: Math.min(5000, requestMsMax),
      // Node would refuse such requests itself, without a problem document.
      requireHostHeader: false,
      noDelay: true,
    })
    // Node would drop headers beyond its maximum, perhaps with a condition among them. Their bytes are bounded already.
    this.#server.maxHeadersCount = 0
    this.#server.on('request', handle).on('checkContinue', handle).on('checkExpectation', handle)
    this.#server.on('clientError', (error, socket) => answerBroken(error, socket, parts.settings))
    this.#server.on('connect', (_request, socket) => refuseTunnel(socket))
  }

  async listen({ port, host = '127.0.0.1' }: ListenOptions): Promise<Listening> {
    await this.#start()
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject)
        resolve()
      })
    })
    const bound = this.#server.address() as AddressInfo
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`
    this.#parts.log.write('info', 'listening', { url, pid: process.pid })
    return { port: bound.port, host, url }
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const startedMs = performance.now()
    const plain = this.#isReady ? recognisePlainRead(request) : undefined
    const reader = plain && this.#admitAtOnce(plain, request.url!)
    if (plain === undefined || reader === undefined) {
      this.#route(new Exchange(request, response, startedMs, this.#parts.intake))
    } else {
      leaveBodyAlone(request)
      const { key, at, ifNoneMatch } = plain
      this.#parts.reader.read({
        request,
        response,
        startedMs,
        key,
        at,
        ifMatch: undefined,
        ifNoneMatch,
        caller: reader === 'anyone' ? undefined : reader,
        rules: this.#parts.access.rules,
        limitsLeft: undefined,
        isPrivate: false,
      })
    }
  }

  /** The caller, if they can be identified without waiting; undefined: the router decides, and makes all refusals. */
  #admitAtOnce(plain: PlainRead, url: string): Caller | 'anyone' | undefined {
    if (!this.#isGuarded || this.#isOpenRead(plain)) return 'anyone'
    const { access, door, router } = this.#parts
    return door === undefined && router.takes(url, plain.host)
      ? access.admitAtOnce(plain.key, plain.authorization)
      : undefined
  }

  /** Access must be checked at each request, since another server over the same store may set rules at any time. */
  get #isGuarded(): boolean {
    const { access, door } = this.#parts
    return access.isOn || access.limits !== undefined || door !== undefined
  }

  /** Whether callers need not be identified, limited or refused. */
  #isOpenRead({ key, host, origin }: PlainRead): boolean {
    const { access, door } = this.#parts
    if (access.limits !== undefined) return false
    return access.isOn ? access.isOpenRead(key) : door === undefined || door.admits(host, origin)
  }

  get(key: Key): Promise<StoredValue | undefined> {
    return this.#isReady ? this.#parts.reader.get(key) : this.#start().then(() => this.#parts.reader.get(key))
  }

  readMetrics(): readonly MetricFamily[] {
    return this.#parts.readMetrics()
  }

  readRecent(kind: RecentKind): readonly RecentItem[] {
    return this.#parts.readRecent(kind)
  }

  close({ graceMs = GRACE_MS, drainMs = 0 }: CloseOptions = {}): Promise<void> {
    this.#closing ??= this.#close(graceMs, drainMs)
    return this.#closing
  }

  #start(): Promise<void> {
    keepTicksQuick()
    this.#started ??= this.#parts.start().then(() => {
      this.#isReady = true
    })
    return this.#started
  }

  #route(exchange: Exchange): void {
    const { replies } = this.#parts
    this.#answer(exchange).catch(error => replies.fail(exchange, error))
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { router, replies, access } = this.#parts
    // Also for requests without a route, but not for preflights: the page behind one could not see why it is refused.
    if (exchange.method !== 'OPTIONS') access.limits?.takeByAddress(exchange)
    const routed = router.route(exchange)
    this.#parts.door?.check(exchange.request)
    if (!this.#isReady) await this.#start()
    if (routed.kind === 'answer') {
      replies.send(exchange, routed.answer)
      return
    }
    const { routeMethod, call } = routed
    const caller = this.#isGuarded ? await access.admit(exchange, routeMethod, keyOf(call)) : undefined
    const answer = routeMethod.handle({ ...call, caller })
    const settled = isPromise(answer) ? await answer : answer
    if (settled === undefined) return
    if (caller?.wasAsked === false) throw new Error(`${exchange.route} was answered without an access check.`)
    replies.send(exchange, settled)
  }

  async #close(graceMs: number, drainMs: number): Promise<void> {
    const { log, replies } = this.#parts
    replies.isStopping = true
    log.write('info', 'stopping', { graceMs, drainMs, pid: process.pid })
    if (drainMs > 0) await delay(drainMs)
    const stopped = new Promise<void>(resolve => this.#server.close(() => resolve()))
    this.#parts.endStreams()
    // Repeated, since a connection becomes idle only once the answer under way has been sent.
    const idle = setInterval(() => this.#server.closeIdleConnections(), IDLE_CHECK_MS)
    const grace = setTimeout(() => this.#server.closeAllConnections(), graceMs)
    this.#server.closeIdleConnections()
    await stopped
    clearInterval(idle)
    clearTimeout(grace)
    try {
      await this.#started
      await this.#parts.stop()
    } catch (error) {
      log.write('error', 'stopping failed', describeError(error))
    }
    log.write('info', 'stopped', { pid: process.pid })
  }
}

/** The key that the path of a call names, if it names data. */
function keyOf({ exchange, names }: RoutedCall): Key | undefined {
  return exchange.route.startsWith('/db/{') ? names.join('/') : undefined
}
