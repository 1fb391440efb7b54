/**
 * Fastly, by its purge API (https://www.fastly.com/documentation/reference/api/purging/): with tags, up to 256 in a call,
 * including lists; without tags, one call for each URL, and lists with parameters stay until they expire.
 */
import { EVERYTHING, type PurgeBatch, tagOfPath } from '@freshet/core/coherence/invalidation'
import type { CacheConfig } from '../cache-config.js'
import { allOf, type CacheKind, expectStatus, isSuccess } from '../cache-kind.js'
import { Requests } from '../send-request.js'

const API = 'https://api.fastly.com'
const KEYS_PER_CALL = 256

export class Fastly implements CacheKind {
  readonly batchMax: number = KEYS_PER_CALL
  readonly intervalMs = 100
  readonly canPurgeEverything = true
  readonly #requests = new Requests()
  readonly #config: CacheConfig

  constructor(config: CacheConfig) {
    this.#config = config
  }

  async purge({ targets }: PurgeBatch): Promise<void> {
    const { service, tags, sites = [] } = this.#config
    if (targets[0] === EVERYTHING) return this.#post(`/service/${service}/purge_all`)
    if (tags) {
      const keys = [...new Set(targets.map(tagOfPath))]
      return this.#post(`/service/${service}/purge`, { surrogate_keys: keys })
    }
    const urls = sites.flatMap(site => targets.map(path => new URL(site).host + path))
    return allOf(urls.map(url => this.#post(`/purge/${url}`)))
  }

  close(): void {
    this.#requests.close()
  }

  async #post(path: string, body?: unknown): Promise<void> {
    const { url = API, secret = '' } = this.#config
    const answer = await this.#requests.send({
      method: 'POST',
      url: url + path,
      headers: {
        'Fastly-Key': secret,
        Accept: 'application/json',
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      body: body === undefined ? '' : JSON.stringify(body),
    })
    expectStatus(answer, `POST ${path}`, isSuccess)
  }
}
