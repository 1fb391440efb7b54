/** A random name for a request, which its answer repeats, so that an answer to another request is detected. */
import { FreshetError } from '@freshet/protocol'

/** Throws CACHE_UNTRUSTWORTHY unless the answer is to the request that had this nonce. */
export function checkEcho(answer: object, nonce: string, url: string): void {
  if ('nonce' in answer && answer.nonce === nonce) return
  throw new FreshetError(
    'CACHE_UNTRUSTWORTHY',
    `${url} got the answer to another request. A cache on the way stores it despite \`no-store\`, and ignores the ` +
      'query string: exempt this path from caching. Or the server is older than the client: upgrade it.',
  )
}

/** 64 random bits. */
export function createNonce(): string {
  return [...crypto.getRandomValues(new Uint32Array(2))].map(word => word.toString(16).padStart(8, '0')).join('')
}
