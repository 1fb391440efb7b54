/**
 * The caches in front of a server that are purged one URL at a time: Varnish, Squid, Traffic Server and nginx. The secret is
 * sent in the header that the shipped configurations check.
 *
 * Only the caches know which lists they keep under which query. Varnish is sent an expression, if its VCL supports that
 * (`bans`). The others purge only the plain list; lists with parameters stay until they expire.
 */
import { EVERYTHING, isBucketPath, type PurgeBatch, type PurgeTarget } from '@freshet/core/coherence/invalidation'
import { type Path, POSITION_HEADER, type Position, parsePosition } from '@freshet/protocol'
import type { CacheConfig } from '../cache-config.js'
import { allOf, type CacheKind, expectStatus, isSuccess, PurgeFailure } from '../cache-kind.js'
import { Requests } from '../send-request.js'

const SECRET_HEADER = 'Freshet-Purge-Secret'
/** An expression over URLs that are to be dropped, too. A VCL that does not know the header purges only the URL. */
const BAN_HEADER = 'Freshet-Ban'

const BATCH_MAX = 500

type HeaderFields = Readonly<Record<string, string>>

abstract class ProxyKind implements CacheKind {
  readonly batchMax: number = BATCH_MAX
  readonly intervalMs: number = 0
  readonly canPurgeEverything: boolean = false
  readonly requests: Requests = new Requests()
  readonly url: string
  readonly headers: HeaderFields
  /** Caches keep copies by host, so each path is purged for each host. */
  readonly #hosts: readonly string[]

  constructor({ url = '', secret, sites = [url] }: CacheConfig) {
    this.url = url.replace(/\/$/, '')
    this.headers = secret === undefined ? {} : { [SECRET_HEADER]: secret }
    this.#hosts = sites.map(site => new URL(site).host)
  }

  purge({ targets, readTo }: PurgeBatch): Promise<void> {
    return allOf(this.#hosts.flatMap(host => targets.map(target => this.tell(host, target, readTo))))
  }

  close(): void {
    this.requests.close()
  }

  protected abstract tell(host: string, target: PurgeTarget, readTo: Position): Promise<void>

  protected async request(method: string, host: string, path: Path, headers: HeaderFields = {}): Promise<void> {
    const answer = await this.requests.send({
      ...{ method, url: this.url + path, host },
      headers: { ...this.headers, ...headers },
    })
    // Squid and Traffic Server answer 404 when they have no copy.
    expectStatus(answer, `${method} ${path}`, status => isSuccess(status) || status === 404)
  }
}

/** Squid and Traffic Server. */
export class PurgingProxy extends ProxyKind {
  protected tell(host: string, target: PurgeTarget): Promise<void> {
    return this.request('PURGE', host, target)
  }
}

export class Varnish extends ProxyKind {
  override readonly canPurgeEverything: boolean

  constructor(config: CacheConfig) {
    super(config)
    this.canPurgeEverything = config.bans === true
  }

  protected tell(host: string, target: PurgeTarget): Promise<void> {
    if (target === EVERYTHING) return this.request('PURGE', host, '/db', { [BAN_HEADER]: '^/db/' })
    const isBanned = this.canPurgeEverything && isBucketPath(target)
    // Names contain no character that has a meaning in an expression.
    return this.request('PURGE', host, target, isBanned ? { [BAN_HEADER]: `^${target}($|\\?)` } : {})
  }
}

/**
 * nginx as distributed cannot purge, but it can be made to fetch a copy again, which replaces the old one. A deleted object has
 * no new copy, so its old copy stays until it expires.
 */
export class RefreshingNginx extends ProxyKind {
  protected async tell(host: string, path: Path, readTo: Position): Promise<void> {
    const answer = await this.requests.send({ method: 'HEAD', url: this.url + path, host, headers: this.headers })
    expectStatus(answer, `HEAD ${path}`, status => isSuccess(status) || status === 404)
    // An answer from the cache differs only in the position at which it was read.
    const position = parsePosition(String(answer.headers[POSITION_HEADER])) ?? readTo
    if (position < readTo) throw new PurgeFailure(`${path} was not fetched again. Is the secret right?`, answer)
  }
}
