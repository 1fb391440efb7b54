/** The answer of a handler, before it is sent. Headers are a flat list, name after name, as Node accepts them. */
import { type FreshetError, PROBLEM_TYPE, toProblem } from '@freshet/protocol'

export interface Answer {
  readonly status: number
  readonly headers: readonly string[]
  readonly body?: string | Uint8Array
  /** Whether its headers let caches keep it. */
  readonly isCacheable?: boolean
  /** Whether pages of every origin may read it, even if only some origins may use the data. */
  readonly isForAllOrigins?: boolean
}

export const JSON_TYPE = 'application/json'
export const NO_STORE: readonly string[] = ['Cache-Control', 'no-store']
export const NO_SNIFF: readonly string[] = ['X-Content-Type-Options', 'nosniff']

/** Redirects to the canonical target of the same resource. */
export function redirectAnswer(target: string): Answer {
  return { status: 308, headers: ['Location', target, ...NO_STORE] }
}

/** JSON that no cache keeps. */
export function jsonAnswer(status: number, value: unknown, headers: readonly string[] = []): Answer {
  return { ...jsonTextAnswer(JSON.stringify(value), headers), status }
}

export function jsonTextAnswer(text: string, headers: readonly string[] = []): Answer {
  return {
    status: 200,
    headers: ['Content-Type', JSON_TYPE, ...NO_STORE, ...NO_SNIFF, ...headers],
    body: `${text}\n`,
  }
}

/**
 * An error as a problem document that no cache keeps. Some details are also sent as headers: `allow` (405), `retryAfterS`
 * (503), `position` (a state in which something was missing), `replayed` (the operation was refused before).
 */
export function problemAnswer(error: FreshetError, requestId: string): Answer {
  const problem = { ...toProblem(error), requestId }
  return {
    status: problem.status,
    headers: [
      ...['Content-Type', PROBLEM_TYPE, ...keepingOf(problem.status), ...NO_SNIFF],
      ...headersOf(error.details),
    ],
    body: `${JSON.stringify(problem)}\n`,
  }
}

/** For answers that depend on the caller, both words, since some caches know only one of them. */
function keepingOf(status: number): readonly string[] {
  return [401, 403, 429].includes(status) ? ['Cache-Control', 'private, no-store'] : NO_STORE
}

function headersOf({ challenge, rateLimit, rateLimitPolicy, ...details }: Readonly<Record<string, unknown>>): string[] {
  return [
    ...(typeof challenge === 'string' ? ['WWW-Authenticate', challenge] : []),
    ...(typeof rateLimit === 'string' ? ['RateLimit', rateLimit] : []),
    ...(typeof rateLimitPolicy === 'string' ? ['RateLimit-Policy', rateLimitPolicy] : []),
    ...moreHeadersOf(details),
  ]
}

function moreHeadersOf({ allow, retryAfterS, position, replayed }: Readonly<Record<string, unknown>>): string[] {
  return [
    ...(Array.isArray(allow) ? ['Allow', allow.join(', ')] : []),
    ...(typeof retryAfterS === 'number' ? ['Retry-After', `${retryAfterS}`] : []),
    ...(typeof position === 'number' ? ['Freshet-Position', `${position}`] : []),
    ...(replayed === true ? ['Idempotency-Replayed', 'true'] : []),
  ]
}
