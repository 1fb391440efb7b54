/**
 * The head of the sketch, fetched so that no cache can answer: each request has a random name, its nonce, and the answer repeats
 * it. This guards against faulty caches, which store it despite `no-store` and ignore the query string; a hostile one can forge
 * the nonce, like everything else.
 */
import { type CoherenceHead, type CoherenceNews, FreshetError, type Position } from '@freshet/protocol'
import { checkEcho, createNonce } from '../http/nonce.js'
import { glimpse, type Reply, type Transport } from '../http/transport.js'

export interface HeadAnswer {
  /** The nonce of the request. News carry a proof that they answer it; for a head it was already checked. */
  readonly nonce: string
  readonly answer: CoherenceHead | CoherenceNews
}

/** Throws CACHE_UNTRUSTWORTHY, ANSWER_INVALID, or the server's error. */
export async function fetchHead(
  transport: Transport,
  after: Position | undefined,
  at: Position,
  signal: AbortSignal,
): Promise<HeadAnswer> {
  const nonce = createNonce()
  // In canonical order: by name.
  const query = [
    ...(after === undefined ? [] : [`after=${after}`]),
    ...(at === 0 ? [] : [`at=${at}`]),
    `nonce=${nonce}`,
  ]
  const target = `/coherence?${query.join('&')}`
  const reply = await transport.text({ method: 'GET', target, cache: 'no-store' }, signal)
  if (reply.problem) throw reply.problem
  const answer = parse(reply.body)
  if (isNews(answer) && after !== undefined) return { nonce, answer }
  if (isNews(answer) || isHead(answer)) {
    checkEcho(answer, nonce, transport.base + target)
    return { nonce, answer }
  }
  throw notFreshet(`${transport.base}${target}`, reply)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON: `notFreshet` describes it.
    return undefined
  }
}

function isNews(value: unknown): value is CoherenceNews {
  return typeof (value as Partial<CoherenceNews> | null)?.news === 'string'
}

function isHead(value: unknown): value is CoherenceHead {
  if (typeof value !== 'object' || value === null) return false
  const { log, position, from, seed, segments, tail, timeMs } = value as Readonly<Record<string, unknown>>
  const hasNumbers = [position, from, timeMs].every(Number.isFinite)
  const hasText = typeof log === 'string' && typeof seed === 'string'
  return hasNumbers && hasText && Array.isArray(segments) && typeof tail === 'object' && tail !== null
}

function notFreshet(url: string, { status, headers, body }: Reply<string>): FreshetError {
  return new FreshetError(
    'ANSWER_INVALID',
    `${url} was answered ${status}, but not as a Freshet server does: ${glimpse(headers, body)}. ` +
      'Check the address.',
  )
}
