/** A nonce makes a URL unique, so that no cache has it. The answer repeats it. */
import { type Parameters, parameterInvalid } from './request-target.js'

const NONCE = /^[A-Za-z0-9_-]{1,64}$/

/** Returns it as a member of the answer. Throws PARAMETER_INVALID. */
export function readNonce(parameters: Parameters): { readonly nonce?: string } {
  const nonce = parameters.get('nonce')
  if (nonce === undefined) return {}
  if (NONCE.test(nonce)) return { nonce }
  throw parameterInvalid('nonce must be 1 to 64 of A-Z, a-z, 0-9, _ and -.')
}
