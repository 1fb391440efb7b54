/**
 * What an answer shows is decided by rules that are no older than the position it tells: else caches would keep what has been closed, and
 * of what is closed no sketch says that it has changed. The rules come with the log, and a store may be ahead of what was read of that. So
 * the log is followed up to what the answer is made of, and if there are other rules by then, the answer is made again.
 */
import type { Position } from '@freshet/protocol'
import type { Caller } from '../access/caller.js'
import type { LogFollower } from '../coherence/log-follower.js'
import type { Answer } from '../http/answer.js'
import { tooMuchContention } from './refusals.js'

export interface PlacedAnswer {
  readonly answer: Answer
  /** Of the state that it is made of, which it tells. */
  readonly position: Position
}

const ATTEMPTS_MAX = 20

/** `make` asks the caller about all that it shows, and may be called again. Throws SERVER_BUSY where rules change all the time. */
export async function answerJudged(
  caller: Caller | undefined,
  follower: LogFollower,
  make: () => Promise<PlacedAnswer>,
): Promise<Answer> {
  if (caller === undefined) return (await make()).answer
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    caller.decideAnew()
    const { answer, position } = await make()
    await follower.catchUpTo(position)
    if (caller.isUpToDate) return answer
  }
  throw tooMuchContention()
}
