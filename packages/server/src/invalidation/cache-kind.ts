/** How the caches of one kind are purged. Only its implementations know the APIs of caches. */
import type { PurgeBatch } from '@freshet/core/coherence/invalidation'
import type { HttpAnswer } from './send-request.js'

export interface CacheKind {
  /** How many targets one batch may hold. */
  readonly batchMax: number
  /** The time between two batches, unless the configuration sets it: what the service allows, or long enough to fill batches. */
  readonly intervalMs: number
  readonly canPurgeEverything: boolean
  /** Resolves when all of it is purged. Rejects with a PurgeFailure, or with the error of the network. */
  purge(batch: PurgeBatch): Promise<void>
  /** Aborts what is under way. */
  close(): void
}

/** A cache answered, but did not purge. */
export class PurgeFailure extends Error {
  readonly status: number
  /** How long the cache asks us to wait; 0 if it does not say. */
  readonly retryAfterMs: number

  constructor(message: string, { status, headers }: Pick<HttpAnswer, 'status' | 'headers'>) {
    super(message)
    this.name = 'PurgeFailure'
    this.status = status
    this.retryAfterMs = retryAfterMsOf(headers['retry-after'])
  }
}

const EXCERPT_LENGTH = 200
/** The longest that a cache can make us wait. */
const RETRY_AFTER_MS_MAX = 600_000

/** Throws unless the status shows that the cache purged. */
export function expectStatus(answer: HttpAnswer, what: string, isPurged: (status: number) => boolean): void {
  if (isPurged(answer.status)) return
  const said = answer.body.slice(0, EXCERPT_LENGTH).replaceAll(/\s+/g, ' ')
  throw new PurgeFailure(`${what} was answered with ${answer.status}${said === '' ? '' : `: ${said}`}`, answer)
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** Waits for all, so that no request is still under way when the batch is retried. */
export async function allOf(tasks: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(tasks)).find(result => result.status === 'rejected')
  if (failed) throw failed.reason
}

export function chunksOf<Item>(items: readonly Item[], sizeMax: number): (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / sizeMax) }, (_, i) =>
    items.slice(i * sizeMax, (i + 1) * sizeMax),
  )
}

/** In seconds. No cache that we know uses the other form, a date. */
function retryAfterMsOf(text: string | string[] | undefined): number {
  const seconds = typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : 0
  return Math.min(seconds * 1000, RETRY_AFTER_MS_MAX)
}
