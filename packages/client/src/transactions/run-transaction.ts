/** The loop around a transaction: it repeats until the transaction commits, fails for good, or has failed too often. */
import { type CommitRequest, FreshetError } from '@freshet/protocol'
import type { BucketTypes } from '../buckets/bucket-types.js'
import { type RetryPolicy, retry } from '../http/back-off.js'
import { JSON_HEADERS } from '../http/transport.js'
import { WRITES_NOTHING } from '../writing/commit.js'
import { isConflict, LeaseTurn } from './lease-turn.js'
import { Transaction, type TransactionOptions, type TransactionParts } from './transaction.js'

export interface TransactionPolicy extends RetryPolicy {
  /** Whether it may ask for leases. */
  readonly lease: boolean
}

/** How long the last lease should have lasted: between this client and the server, that does not change much. */
const wantedMsOf = new WeakMap<TransactionParts, number>()

export async function runTransaction<Buckets extends BucketTypes<Buckets>, Result>(
  parts: TransactionParts,
  policy: TransactionPolicy,
  options: TransactionOptions,
  work: (tx: Transaction<Buckets>) => Promise<Result>,
): Promise<Result> {
  const { closed, clock } = parts
  const signal = options.signal ? AbortSignal.any([closed, options.signal]) : closed
  const turn = policy.lease ? new LeaseTurn(wantedMsOf.get(parts)) : undefined
  try {
    return await retry(policy, signal, isConflict, async () => {
      const beganMs = clock()
      try {
        return await attempt(new Transaction<Buckets>(parts, options, turn), work)
      } catch (error) {
        turn?.failed(error, clock() - beganMs)
        throw error
      }
    })
  } catch (error) {
    if (turn?.heldId !== undefined) giveBack(parts, turn.heldId)
    throw isConflict(error) ? gaveUp(error as FreshetError, policy) : error
  } finally {
    if (turn?.wantedMs !== undefined) wantedMsOf.set(parts, turn.wantedMs)
  }
}

function gaveUp(cause: FreshetError, { retriesMax, lease }: TransactionPolicy): FreshetError {
  const turns = lease ? '' : ' Pass lease: true to let clients take turns, or'
  return new FreshetError(
    cause.code,
    `${cause.message} The transaction gave up after ${retriesMax} retries.${turns || ' You can'} raise retriesMax.`,
    { cause, details: cause.details },
  )
}

/** Other clients wait for the lease. If this request does not arrive, they wait until the lease expires. */
function giveBack({ writer }: TransactionParts, leaseId: string): void {
  const body = JSON.stringify({ writes: [], leaseId } satisfies CommitRequest)
  const request = { method: 'POST', target: '/commit', headers: JSON_HEADERS, body } as const
  writer.write({ request, paths: [], ...WRITES_NOTHING }, {}).catch(() => {})
}

async function attempt<Buckets extends BucketTypes<Buckets>, Result>(
  tx: Transaction<Buckets>,
  work: (tx: Transaction<Buckets>) => Promise<Result>,
): Promise<Result> {
  let result: Result
  try {
    result = await work(tx)
  } catch (error) {
    await tx.certify(error)
    throw error
  }
  await tx.commit()
  return result
}
