/** What the caches of one kind are told, and how. The only part of invalidation that knows their ways. */
import type { PurgeBatch } from '@freshet/core/coherence/invalidation'
import type { HttpAnswer } from './send-request.js'

export interface CacheKind {
  /** How many targets one batch may hold. */
  readonly batchMax: number
  /** Between two batches, unless the configuration says otherwise: what the service allows, or what makes batches. */
  readonly intervalMs: number
  readonly canPurgeEverything: boolean
  /** Resolves when all of it is purged. Rejects with a PurgeFailure, or with what the network said. */
  purge(batch: PurgeBatch): Promise<void>
  /** Cuts what is under way. */
  close(): void
}

/** A cache answered, but did not purge. */
export class PurgeFailure extends Error {
  readonly status: number
  /** How long it asks not to be asked again; 0 if it does not say. */
  readonly retryAfterMs: number

  constructor(message: string, { status, headers }: Pick<HttpAnswer, 'status' | 'headers'>) {
    super(message)
    this.name = 'PurgeFailure'
    this.status = status
    this.retryAfterMs = retryAfterMsOf(headers['retry-after'])
  }
}

const EXCERPT_LENGTH = 200
/** Nobody is waited for longer, whatever he asks. */
const RETRY_AFTER_MS_MAX = 600_000

/** Throws unless the status is one that says it was purged. */
export function expectStatus(answer: HttpAnswer, what: string, isPurged: (status: number) => boolean): void {
  if (isPurged(answer.status)) return
  const said = answer.body.slice(0, EXCERPT_LENGTH).replaceAll(/\s+/g, ' ')
  throw new PurgeFailure(`${what} was answered with ${answer.status}${said === '' ? '' : `: ${said}`}`, answer)
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** All are awaited, so that none is still under way when the batch is tried again. */
export async function allOf(tasks: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(tasks)).find(result => result.status === 'rejected')
  if (failed) throw failed.reason
}

export function chunksOf<Item>(items: readonly Item[], sizeMax: number): (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / sizeMax) }, (_, i) =>
    items.slice(i * sizeMax, (i + 1) * sizeMax),
  )
}

/** Seconds; the other form, a date, is used by none of those we know. */
function retryAfterMsOf(text: string | string[] | undefined): number {
  const seconds = typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : 0
  return Math.min(seconds * 1000, RETRY_AFTER_MS_MAX)
}
