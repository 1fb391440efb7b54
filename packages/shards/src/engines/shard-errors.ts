/** The errors of a shard, with its name. */
import { FreshetError } from '@freshet/protocol'
import type { ShardEngine } from './shard-engine.js'

export function shardUnavailable(shard: string, place: string, cause: unknown): FreshetError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new FreshetError('SHARD_UNAVAILABLE', `The shard ${shard} at ${place} does not answer: ${reason}.`, {
    cause,
    details: { shard },
  })
}

/** `refuse` makes the error for a statement that the engine refuses. */
export async function telling<Result>(
  shard: string,
  engine: ShardEngine,
  refuse: (reason: string, cause: unknown) => FreshetError,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof FreshetError) throw error
    const reason = engine.refusal(error)
    throw reason === undefined ? shardUnavailable(shard, engine.place, error) : refuse(reason, error)
  }
}

export function refusedBy(code: 'SQL_INVALID' | 'GLOBAL_REFUSED', shard: string) {
  return (reason: string, cause: unknown): FreshetError =>
    new FreshetError(code, `The shard ${shard} refuses this: ${reason}.`, { cause, details: { shard } })
}

export function unusable(shard: string, place: string) {
  return (reason: string, cause: unknown): FreshetError =>
    new FreshetError(
      'SHARD_UNUSABLE',
      `The shard ${shard} at ${place} cannot be used: ${reason}. Was it prepared with freshet shards init?`,
      {
        cause,
        details: { shard },
      },
    )
}
