/**
 * Which web pages may use the server (Fetch standard, CORS). Never with credentials: pages send tokens as headers of their own.
 */
import type { IncomingMessage } from 'node:http'
import type { ServerSettings } from '../settings/server-settings.js'
import type { Answer } from './answer.js'

const EXPOSED_HEADERS =
  'ETag, Freshet-Position, Date, Age, Location, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id, Idempotency-Replayed'
const ALLOWED_HEADERS =
  'Content-Type, If-Match, If-None-Match, Cache-Control, Last-Event-ID, X-Request-Id, Idempotency-Key, Authorization'
const PREFLIGHT_MAX_AGE_S = 86_400
/** For an answer that pages of every origin may read. */
export const ALL_ORIGINS: readonly string[] = allow('*')

export class Cors {
  /** The headers for every request; undefined if there is a list of origins. */
  readonly constant: readonly string[] | undefined
  readonly #byOrigin: ReadonlyMap<string, readonly string[]>

  /** `auto`: requests that are not allowed have been refused before this is used. */
  constructor(origins: ServerSettings['corsOrigins']) {
    const list = typeof origins === 'string' ? [] : origins
    this.constant = typeof origins === 'string' ? ALL_ORIGINS : undefined
    this.#byOrigin = new Map(list.map(origin => [origin, [...allow(origin), 'Vary', 'Origin']]))
  }

  headers(request: IncomingMessage): readonly string[] {
    if (this.constant) return this.constant
    return this.#byOrigin.get(request.headers.origin ?? '') ?? VARY_ONLY
  }

  /** The answer to OPTIONS, whether it is a browser's preflight or not. */
  preflight(methods: readonly string[]): Answer {
    const list = methods.join(', ')
    return {
      status: 204,
      headers: [
        ...['Allow', list, 'Cache-Control', 'no-store'],
        ...['Access-Control-Allow-Methods', list, 'Access-Control-Allow-Headers', ALLOWED_HEADERS],
        ...['Access-Control-Max-Age', `${PREFLIGHT_MAX_AGE_S}`],
      ],
    }
  }
}

const VARY_ONLY: readonly string[] = ['Vary', 'Origin']

function allow(origin: string): readonly string[] {
  const exposed = ['Access-Control-Expose-Headers', EXPOSED_HEADERS]
  // Timing-Allow-Origin shows pages the size of a transfer, and so whether it came from the browser's own cache.
  return ['Access-Control-Allow-Origin', origin, ...exposed, 'Timing-Allow-Origin', origin]
}
