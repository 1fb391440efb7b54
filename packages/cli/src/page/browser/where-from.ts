/**
 * Where an answer came from. Whether the network was used, the browser's own record of the request says; whether a cache
 * on the way answered, the headers do that such caches add: `Age` (RFC 9111), `Cache-Status` (RFC 9211), `X-Cache` and
 * its like, `X-Varnish`.
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
  // An age counts whole seconds: of a copy that a cache has had for less it says 0, as of one that it has just fetched.
  const isAged = Number(header('age')) > 0
  return isAged || isHitOfVarnish(header('x-varnish')) || HIT_HEADERS.some(name => isHit(header(name)))
    ? 'shared'
    : 'server'
}

function isHit(value: string | null): boolean {
  return value !== null && /\bhit\b/i.test(value)
}

/** The number of this request, and for a hit, behind it that of the request by which the copy was fetched. */
function isHitOfVarnish(value: string | null): boolean {
  return value !== null && /\d+ \d+/.test(value)
}

/** How long to wait for the browser's record: it may come a moment after the answer itself. */
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
