/**
 * Decides an answer by rules that are no older than the position it states. Otherwise caches would keep data that has been
 * closed, and no sketch reports changes of closed data. The rules come with the log, and the store may be ahead of what was
 * read of the log. So the log is followed up to the state of the answer, and if the rules have changed by then, the answer is
 * made again.
 */
import { type Position, readPosition } from '@freshet/protocol'
import { tooMuchContention } from '../../buckets/refusals.js'
import type { LogFollower } from '../../coherence/log-follower.js'
import type { PositionWaits } from '../../coherence/position-waits.js'
import type { Answer } from '../../http/answer.js'
import type { Call } from '../../routing/call.js'

export interface PlacedAnswer {
  readonly answer: Answer
  /** The position of the state that the answer shows, as the answer states it. */
  readonly position: Position
}

const ATTEMPTS_MAX = 20

/**
 * Answers from a state that includes the position that the call asks for (`?at=`, otherwise 0). `make` asks the caller about
 * everything that it shows, and may be called again. Throws SERVER_BUSY if the rules keep changing.
 */
export async function answerJudged(
  { parameters, caller }: Call,
  { waits, follower }: { readonly waits: PositionWaits; readonly follower: LogFollower },
  make: (at: Position) => Promise<PlacedAnswer>,
): Promise<Answer> {
  const at = parameters.has('at') ? readPosition('at', parameters.get('at')!) : 0
  await follower.catchUpTo(await waits.reach(at))
  if (caller === undefined) return (await make(at)).answer
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    caller.decideAnew()
    const { answer, position } = await make(at)
    await follower.catchUpTo(position)
    if (caller.isUpToDate) return answer
  }
  throw tooMuchContention()
}
