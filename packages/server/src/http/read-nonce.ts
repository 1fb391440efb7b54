/** A name that makes a URL one that no cache has; the answer repeats it. */
import { type Parameters, parameterInvalid } from './request-target.js'

const NONCE = /^[A-Za-z0-9_-]{1,64}$/

/** As a member of the answer. Throws PARAMETER_INVALID. */
export function readNonce(parameters: Parameters): { readonly nonce?: string } {
  const nonce = parameters.get('nonce')
  if (nonce === undefined) return {}
  if (NONCE.test(nonce)) return { nonce }
  throw parameterInvalid('nonce must be 1 to 64 of A-Z, a-z, 0-9, _ and -.')
}
