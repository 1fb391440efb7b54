/**
 * Where an answer came from. The browser's own record of the request shows whether the network was used. The headers that caches
 * add show whether a cache on the way answered: `Age` (RFC 9111), `Cache-Status` (RFC 9211), `X-Cache` and the like, `X-Varnish`.
 */
import type { Source } from './tally.js'

export interface AnswerTrace {
  /** Bytes that crossed the network, headers included: 0 means the browser's cache. */
  readonly transferSize: number
  readonly header: (name: string) => string | null
}

const HIT_HEADERS = ['cache-status', 'x-cache', 'x-cache-status']

export function whereFrom({ transferSize, header }: AnswerTrace): Source {
  if (transferSize === 0) return 'browser'
  // Age counts whole seconds: it is 0 for a copy younger than a second, as for one just fetched.
  const isAged = Number(header('age')) > 0
  return isAged || isHitOfVarnish(header('x-varnish')) || HIT_HEADERS.some(name => isHit(header(name)))
    ? 'shared'
    : 'server'
}

function isHit(value: string | null): boolean {
  return value !== null && /\bhit\b/i.test(value)
}

/** The number of this request; for a hit, followed by the number of the request that fetched the copy. */
function isHitOfVarnish(value: string | null): boolean {
  return value !== null && /\d+ \d+/.test(value)
}

/** How long to wait for the browser's record: it may arrive a moment after the answer itself. */
const RECORD_MS_MAX = 100

/** What the browser recorded of the request for `url` that began at or after `startedMs`, by `performance.now()`. */
export async function transferSizeOf(url: string, startedMs: number): Promise<number | undefined> {
  const deadlineMs = performance.now() + RECORD_MS_MAX
  for (;;) {
    const record = performance.getEntriesByName(url, 'resource').findLast(entry => entry.startTime >= startedMs) as
      | PerformanceResourceTiming
      | undefined
    if (record) return record.transferSize
    if (performance.now() > deadlineMs) return undefined
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
