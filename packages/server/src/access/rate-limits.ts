/**
 * Token buckets, in the memory of this process: each address, and each subject of a token, may send `perS` requests a second
 * over time, and the requests of `burstS` seconds at once. The headers of draft-ietf-httpapi-ratelimit-headers say how many
 * requests are left, and tell a refused client when to come back.
 */
import type { FreshetError } from '@freshet/protocol'
import type { ClientAddresses } from '../http/client-addresses.js'
import type { Exchange } from '../http/exchange.js'
import { type LimitLeft, limitHeaders } from '../http/limit-headers.js'
import { overLimit } from '../settings/limits.js'

export interface RateLimitConfig {
  /** 0: no limit. */
  readonly perAddressPerS: number
  readonly perSubjectPerS: number
  /** The requests of this many seconds may come at once. */
  readonly burstS: number
}

interface Level {
  /** When the bucket will be full again, by `performance.now()`. */
  fullAtMs: number
}

const KEPT_MAX = 100_000

export class RateLimits {
  readonly #config: RateLimitConfig
  readonly #clients: ClientAddresses
  readonly #addresses = new Map<string, Level>()
  readonly #subjects = new Map<string, Level>()

  constructor(config: RateLimitConfig, clients: ClientAddresses) {
    this.#config = config
    this.#clients = clients
  }

  /** Throws RATE_LIMITED. */
  takeByAddress({ request, limitsLeft }: Exchange): void {
    const { perAddressPerS } = this.#config
    if (perAddressPerS === 0) return
    limitsLeft.push(this.#take(this.#addresses, this.#clients.networkOf(request), perAddressPerS, 'address'))
  }

  /** Throws RATE_LIMITED. */
  takeBySubject({ limitsLeft }: Exchange, subject: string): void {
    const { perSubjectPerS } = this.#config
    if (perSubjectPerS > 0) limitsLeft.push(this.#take(this.#subjects, subject, perSubjectPerS, 'subject'))
  }

  #take(levels: Map<string, Level>, name: string, perS: number, policy: string): LimitLeft {
    const nowMs = performance.now()
    const eachMs = 1000 / perS
    const windowMs = this.#config.burstS * 1000
    const level = levels.get(name)
    const fullAtMs = Math.max(nowMs, level?.fullAtMs ?? nowMs)
    // The order matters: an unused bucket must give exactly 0. A rounding error would refuse the first request of a burst of one.
    const overMs = fullAtMs - nowMs + eachMs - windowMs
    const limit = { policy, quota: Math.floor(perS * this.#config.burstS), windowS: this.#config.burstS }
    if (overMs > 0) throw limited({ ...limit, remaining: 0, resetS: Math.max(1, Math.ceil(overMs / 1000)) })
    if (level !== undefined) level.fullAtMs = fullAtMs + eachMs
    else this.#keep(levels, name, fullAtMs + eachMs, nowMs)
    const resetMs = fullAtMs + eachMs - nowMs
    return { ...limit, remaining: Math.floor(-overMs / eachMs), resetS: Math.ceil(resetMs / 1000) }
  }

  /** Entries that have not been used for a while are dropped: they would be full again. */
  #keep(levels: Map<string, Level>, name: string, fullAtMs: number, nowMs: number): void {
    if (levels.size >= KEPT_MAX) {
      for (const [known, level] of levels) if (level.fullAtMs <= nowMs) levels.delete(known)
      if (levels.size >= KEPT_MAX) levels.delete(levels.keys().next().value!)
    }
    levels.set(name, { fullAtMs })
  }
}

function limited(limit: LimitLeft): FreshetError {
  const { policy, resetS: retryAfterS } = limit
  const [, rateLimit, , rateLimitPolicy] = limitHeaders([limit])
  return overLimit({
    code: 'RATE_LIMITED',
    limit: policy === 'address' ? 'limitPerAddress' : 'limitPerSubject',
    what: `Too many requests from this ${policy}, so this one was not done.`,
    instead: `Come back in ${retryAfterS} s`,
    details: { ...{ retryAfterS, rateLimit, rateLimitPolicy }, outcome: 'not-done' },
  })
}
