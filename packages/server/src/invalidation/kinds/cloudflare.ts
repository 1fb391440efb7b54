/**
 * Cloudflare, by `purge_cache` (https://developers.cloudflare.com/api/resources/cache/methods/purge/): objects by URL, lists by
 * tag; without tags, lists with parameters stay until they expire. The number of calls that it accepts depends on the plan,
 * down to five in a minute: `intervalMs` sets the time between calls, and 429 is obeyed.
 */
import { EVERYTHING, isBucketPath, type PurgeBatch, tagOfPath } from '@freshet/core/coherence/invalidation'
import type { CacheConfig } from '../cache-config.js'
import { type CacheKind, chunksOf, expectStatus, isSuccess, PurgeFailure } from '../cache-kind.js'
import { Requests } from '../send-request.js'

const API = 'https://api.cloudflare.com/client/v4'
const ITEMS_PER_CALL = 100

export class Cloudflare implements CacheKind {
  readonly batchMax: number
  readonly intervalMs = 1000
  readonly canPurgeEverything = true
  readonly #requests = new Requests()
  readonly #config: CacheConfig
  readonly #itemsMax: number

  constructor(config: CacheConfig) {
    this.#config = config
    this.#itemsMax = config.itemsMax ?? ITEMS_PER_CALL
    this.batchMax = Math.max(1, Math.floor(this.#itemsMax / (config.sites?.length ?? 1)))
  }

  async purge({ targets }: PurgeBatch): Promise<void> {
    if (targets[0] === EVERYTHING) return this.#post({ purge_everything: true })
    const { tags = false, sites = [] } = this.#config
    const byTag = tags ? targets.filter(isBucketPath).map(tagOfPath) : []
    const byUrl = tags ? targets.filter(path => !isBucketPath(path)) : targets
    const files = sites.flatMap(site => byUrl.map(path => new URL(site).origin + path))
    for (const chunk of chunksOf(byTag, this.#itemsMax)) await this.#post({ tags: chunk })
    for (const chunk of chunksOf(files, this.#itemsMax)) await this.#post({ files: chunk })
  }

  close(): void {
    this.#requests.close()
  }

  async #post(body: unknown): Promise<void> {
    const { url = API, zone, secret } = this.#config
    const path = `/zones/${zone}/purge_cache`
    const answer = await this.#requests.send({
      method: 'POST',
      url: url + path,
      headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    expectStatus(answer, `POST ${path}`, isSuccess)
    if (!/"success"\s*:\s*true/.test(answer.body)) throw new PurgeFailure(`POST ${path} did not succeed`, answer)
  }
}
