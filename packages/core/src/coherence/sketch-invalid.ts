/** A reader's error for a sketch that it cannot use: better an error than a change that it does not know of. */
import { FreshetError } from '@freshet/protocol'

export function sketchInvalid(reason: string, cause?: unknown): FreshetError {
  return new FreshetError('ANSWER_INVALID', `The server's sketch cannot be used: ${reason}.`, { cause })
}
