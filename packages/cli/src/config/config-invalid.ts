/** The error of a command line, a variable or a config file that cannot be used. */
import { FreshetError } from '@freshet/protocol'

/** `message` must say what to change. */
export function configInvalid(message: string, cause?: unknown): FreshetError {
  return new FreshetError('CONFIG_INVALID', message, cause === undefined ? {} : { cause })
}
