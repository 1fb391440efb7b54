/**
 * What one transaction knows of leases from attempt to attempt: which one it holds, what it was told with it, and how long
 * its next one should last. Twice what an attempt took is enough for the next, also if it is unlucky; if not, others go on
 * without waiting, and nothing worse happens.
 */
import { type CommitLease, type CommitRequest, FreshetError, type LeasedObject } from '@freshet/protocol'

const LEASE_MS_MIN = 50

export class LeaseTurn {
  #held: CommitLease | undefined
  #wantedMs: number | undefined

  /** `wantedMs`: as an earlier transaction has found. */
  constructor(wantedMs?: number) {
    this.#wantedMs = wantedMs
  }

  /** How long a lease should last, as far as that is known. */
  get wantedMs(): number | undefined {
    return this.#wantedMs
  }

  /** What is to be given back if there is no next attempt. */
  get heldId(): string | undefined {
    return this.#held?.id
  }

  /** What the commit of the next attempt says of leases. */
  get request(): Pick<CommitRequest, 'lease' | 'leaseId'> {
    return { lease: this.#wantedMs ?? true, ...(this.#held === undefined ? {} : { leaseId: this.#held.id }) }
  }

  /** What the next attempt need not read. */
  get objects(): readonly LeasedObject[] {
    return this.#held?.objects ?? []
  }

  /** `tookMs`: from the beginning of the attempt. */
  failed(error: unknown, tookMs: number): void {
    const lease = leaseIn(error)
    // One that it had went with its commit; if there was no commit, it still has it.
    if (lease !== undefined || isConflict(error)) this.#held = lease
    if (lease) this.#wantedMs = Math.max(LEASE_MS_MIN, Math.ceil(2 * (tookMs - lease.waitedMs)))
  }
}

export function isConflict(error: unknown): boolean {
  return error instanceof FreshetError && error.code === 'COMMIT_CONFLICT'
}

function leaseIn(error: unknown): CommitLease | undefined {
  return error instanceof FreshetError ? (error.details.lease as CommitLease | undefined) : undefined
}
