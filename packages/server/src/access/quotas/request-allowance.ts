/**
 * Counts the requests of a namespace over all servers. Each server takes a share of what the period has left from the store,
 * and hands it out by itself, so most requests cost nothing. When the period ends, the part of a share that a server has not
 * handed out is lost. So a namespace gets its quota, minus at most one share per server, and never more.
 *
 * Periods follow the time of day (UTC), by the server's clock. If the clocks of two servers differ, the later one counts.
 */
import type { Store, StoredValue } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { JSON_TYPE } from '../../http/answer.js'
import { PERIODS_MS, type RequestQuota } from '../rules/parse-quota.js'
import { raisingQuota } from './raising-quota.js'
import { requestsKey } from './usage-record.js'

interface Taken {
  /** The number of the period: how many periods of this length came before it. */
  readonly period: number
  readonly per: string
  readonly taken: number
}

interface Share {
  period: number
  per: string
  left: number
  /** The store has nothing left for this period. */
  isLast: boolean
}

const SHARES = 50
const ATTEMPTS_MAX = 100

export class RequestAllowance {
  readonly #store: Store
  readonly #timeMs: () => number
  readonly #shares = new Map<string, Share>()
  readonly #asking = new Map<string, Promise<void>>()

  constructor(store: Store, timeMs: () => number = Date.now) {
    this.#store = store
    this.#timeMs = timeMs
  }

  /** Throws QUOTA_EXCEEDED. */
  async take(namespace: string, quota: RequestQuota): Promise<void> {
    for (;;) {
      const share = this.#shareOf(namespace, quota)
      if (share !== undefined && share.left > 0) {
        share.left--
        return
      }
      if (share?.isLast) throw this.#exceeded(namespace, quota)
      await this.#ask(namespace, quota)
    }
  }

  /** How many requests servers have taken of this period, by the store's record. */
  taken(stored: StoredValue | undefined, quota: RequestQuota): number {
    return this.#current(stored && decode(stored.body), quota).taken
  }

  #shareOf(namespace: string, { per }: RequestQuota): Share | undefined {
    const share = this.#shares.get(namespace)
    return share !== undefined && share.per === per && share.period >= this.#period(per) ? share : undefined
  }

  /** Only one request to the store at a time: other callers wait for the same share. */
  #ask(namespace: string, quota: RequestQuota): Promise<void> {
    const asking =
      this.#asking.get(namespace) ?? this.#askStore(namespace, quota).finally(() => this.#asking.delete(namespace))
    this.#asking.set(namespace, asking)
    return asking
  }

  async #askStore(namespace: string, quota: RequestQuota): Promise<void> {
    const key = requestsKey(namespace)
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const known = await this.#store.get(key)
      const before = this.#current(known && decode(known.body), quota)
      const left = Math.min(Math.ceil(quota.max / SHARES), quota.max - before.taken)
      const share = { period: before.period, per: quota.per, left: Math.max(0, left), isLast: left <= 0 }
      if (share.isLast) {
        this.#shares.set(namespace, share)
        return
      }
      const after: Taken = { ...before, taken: before.taken + left }
      const { committed } = await this.#store.commit({
        reads: [{ key, version: known?.version ?? 0 }],
        writes: [{ key, contentType: JSON_TYPE, body: Buffer.from(JSON.stringify(after)) }],
      })
      if (!committed) continue
      this.#shares.set(namespace, share)
      return
    }
    throw new FreshetError(
      'SERVER_BUSY',
      'Too many servers are counting the requests of this namespace at once. Try again.',
    )
  }

  /** A clock that is ahead by more than a period is wrong, and is not followed. */
  #current(known: Taken | undefined, { per }: RequestQuota): Taken {
    const period = this.#period(per)
    const isKnown = known?.per === per && (known.period === period || known.period === period + 1)
    return isKnown ? known : { period, per, taken: 0 }
  }

  #period(per: RequestQuota['per']): number {
    return Math.floor(this.#timeMs() / PERIODS_MS[per])
  }

  #exceeded(namespace: string, { max, per }: RequestQuota): FreshetError {
    const periodMs = PERIODS_MS[per]
    const retryAfterS = Math.ceil((periodMs - (this.#timeMs() % periodMs)) / 1000)
    return new FreshetError(
      'QUOTA_EXCEEDED',
      `The namespace ${namespace} has used its ${max} requests of this ${per}. Come back in ${retryAfterS} s, or ` +
        `${raisingQuota(namespace)}.`,
      { details: { namespace, what: 'requests', max, per, retryAfterS, outcome: 'not-done' } },
    )
  }
}

function decode(body: Uint8Array): Taken {
  return JSON.parse(new TextDecoder().decode(body)) as Taken
}
