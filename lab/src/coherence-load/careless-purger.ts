/** Purges what readers have requested lately, at random and regardless of requests under way: a race with every fill. */
import { setTimeout as delay } from 'node:timers/promises'
import type { RunningCache } from '../caches/cache-process.js'
import type { Random } from '../harness/random.js'

const URLS_MAX = 100
const PURGE_MS_MAX = 5_000

export class CarelessPurger {
  purges = 0
  readonly #caches: readonly RunningCache[]
  readonly #random: Random
  readonly #urls: string[] = []

  constructor(caches: readonly RunningCache[], random: Random) {
    this.#caches = caches
    this.#random = random
  }

  note(url: string): void {
    if (this.#urls.length < URLS_MAX) this.#urls.push(url)
    else if (this.#random.below(10) === 0) this.#urls[this.#random.below(URLS_MAX)] = url
  }

  async run(pauseMs: number, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await delay(this.#random.float() * 2 * pauseMs)
      if (this.#urls.length === 0) continue
      if (await purge(this.#random.pick(this.#caches), this.#random.pick(this.#urls))) this.purges++
    }
  }
}

/** nginx cannot purge: there the copy is fetched again. False if the cache is down. */
async function purge(cache: RunningCache, url: string): Promise<boolean> {
  const method = cache.kind === 'nginx' ? 'GET' : 'PURGE'
  const headers = { 'Freshet-Purge-Secret': cache.secret }
  try {
    const signal = AbortSignal.timeout(PURGE_MS_MAX)
    const response = await fetch(cache.url + url, { method, headers, signal })
    await response.arrayBuffer()
    return true
  } catch {
    // The cache is being restarted. Nothing relies on a purge.
    return false
  }
}
