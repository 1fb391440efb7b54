/**
 * What one transaction knows about leases from attempt to attempt: the lease it holds, the objects that came with it, and how
 * long its next one should last. Twice the duration of an attempt is enough for the next, even an unlucky one; if it is not,
 * other clients proceed without waiting, and nothing worse happens.
 */
import { type CommitLease, type CommitRequest, FreshetError, type LeasedObject } from '@freshet/protocol'

const LEASE_MS_MIN = 50

export class LeaseTurn {
  #held: CommitLease | undefined
  #wantedMs: number | undefined

  /** `wantedMs`: the duration that an earlier transaction needed. */
  constructor(wantedMs?: number) {
    this.#wantedMs = wantedMs
  }

  /** How long a lease should last, if known. */
  get wantedMs(): number | undefined {
    return this.#wantedMs
  }

  /** The lease to give back if there is no next attempt. */
  get heldId(): string | undefined {
    return this.#held?.id
  }

  /** The lease members of the next attempt's commit. */
  get request(): Pick<CommitRequest, 'lease' | 'leaseId'> {
    return { lease: this.#wantedMs ?? true, ...(this.#held === undefined ? {} : { leaseId: this.#held.id }) }
  }

  /** The objects that the next attempt need not read. */
  get objects(): readonly LeasedObject[] {
    return this.#held?.objects ?? []
  }

  /** Records a failed attempt; `tookMs` counts from its beginning. */
  failed(error: unknown, tookMs: number): void {
    const lease = leaseIn(error)
    // The commit used up the lease; if there was no commit, the transaction still has it.
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
