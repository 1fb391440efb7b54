/** The loop around a transaction: until it commits, fails for good, or has failed too often. */
import { FreshetError } from '@freshet/protocol'
import type { DatabaseParts } from '../database.js'
import { type RetryPolicy, retry } from '../http/back-off.js'
import { Transaction, type TransactionOptions } from './transaction.js'

export async function runTransaction<Result>(
  parts: DatabaseParts,
  policy: RetryPolicy,
  options: TransactionOptions,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const { closed } = parts
  const signal = options.signal ? AbortSignal.any([closed, options.signal]) : closed
  return retry(policy, signal, isConflict, () => attempt(new Transaction(parts, options), work))
}

async function attempt<Result>(tx: Transaction, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
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

function isConflict(error: unknown): boolean {
  return error instanceof FreshetError && error.code === 'COMMIT_CONFLICT'
}
