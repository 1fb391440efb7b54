/**
 * The tests of http-cache-tests that Freshet depends on, and why. The suite has some 300; most are about headers that our
 * server never sends. Staleness is never at stake, because sessions do not believe caches (`core/coherence/session.ts`), but
 * that rests on the first group. The second group decides what readers without a session get; the third, how much caches help.
 *
 * The last group is behaviour that a developer might expect to rely on, and must not: caches do not agree on it.
 */
import type { CacheKind } from '../../caches/cache-process.js'

export const GROUPS = ['sessions rest on it', 'plain readers rest on it', 'makes it fast', 'not relied upon'] as const

export interface ReliedUpon {
  readonly id: string
  readonly group: (typeof GROUPS)[number]
  readonly why: string
  /** Default: pass or yes. */
  readonly wanted?: 'no'
  /** Caches that are known to fail the test, and why that is harmless. */
  readonly spared?: Readonly<Partial<Record<CacheKind, string>>>
}

type Group = Readonly<Record<string, string | Omit<ReliedUpon, 'id' | 'group'>>>

/** The argument of the window: a copy under the plain URL is no older than its lifetime, and `?at=` is a separate URL. */
const SESSIONS: Group = {
  'query-args-different':
    '`?at=` must be a separate URL; otherwise no promise holds, and clients report CACHE_UNTRUSTWORTHY',
  'status-200-stale': 'a copy that has outlived `max-age` may be older than the window remembers',
  'status-404-stale': {
    why: 'the same for "there is no such object"',
    spared: { squid: 'cannot be tested: with `negative_ttl 0` it caches no 404 at all' },
  },
  'freshness-max-age-0': 'a bucket whose lifetime is 0 must not be cached',
  'cc-resp-must-revalidate-stale': 'the answers say `must-revalidate`: they are never served after their lifetime',
  'stale-close': { why: 'the same while the server is down', wanted: 'no' },
  'freshness-max-age-age':
    'the time spent in caches before this one counts. nginx ignores `Age`; with the shipped file it caches nothing that arrives with one',
  'cc-resp-no-store':
    'the set of changes (`/coherence`) must come from the server; besides, each request has its own URL',
  'cc-resp-no-store-fresh': 'the same',
  'headers-store-Test-Header': '`Freshet-Position` must come back unchanged: sessions check it',
  'headers-store-ETag': 'the version is the ETag',
  'vary-no-match': 'compressed answers say `Vary: Accept-Encoding`',
  'vary-omit-stored': 'the same, if the first reader sent no `Accept-Encoding`',
  'vary-omit': 'the same, if the second reader sent none',
}

const PLAIN: Group = {
  'cc-resp-private-shared': 'what needs a permission says `private`, and no shared cache may keep it',
  'other-authorization': 'answers to requests with `Authorization` must not be served to others',
  'conditional-etag-precedence': {
    why: 'a date must not take precedence over the version',
    spared: { nginx: 'it then sends the whole object instead of a 304, and our answers have no `Last-Modified`' },
  },
  'conditional-304-etag': {
    why: 'a 304 says which version it confirms',
    spared: { squid: 'the reader sent one ETag, so it knows which version the 304 confirms' },
  },
  '304-etag-update-response-Test-Header': {
    why: 'a revalidated copy has the position of its revalidation',
    spared: {
      nginx: 'it keeps the earlier `Freshet-Position`: the copy seems older than it is, which is safe',
    },
  },
  'other-date-update': '`Date` tells browsers and further caches how old a copy is',
  'other-age-gen': {
    why: 'so does `Age`',
    spared: {
      nginx: 'nginx has no `Age`. The shipped file passes on the `Date` of the server, from which the age follows',
    },
  },
  'other-age-update-max-age': { why: '`Age` must grow', spared: { nginx: 'the same' } },
}

const FAST: Group = {
  'freshness-max-age': 'copies are used at all',
  'status-200-fresh': 'the same',
  'status-404-fresh': {
    why: '"there is no such object" is cached as well',
    spared: { squid: 'with `negative_ttl 0` it caches no 404, so each costs a request to the server' },
  },
  'query-args-same': 'a URL with `?at=` is cached like any other, and shared by all readers that request it',
  'cc-resp-must-revalidate-fresh': '`must-revalidate` does not prevent the use of a copy before it expires',
  'vary-match': 'compressed copies are used',
  'vary-cache-key': 'readers that differ in other headers share a copy',
  'conditional-etag-strong-respond': 'the cache answers a browser that has the version with a 304',
  'conditional-etag-strong-generate': 'the server does not resend an expired copy that has not changed',
}

const NOT: Group = {
  'ccreq-no-cache': 'that a reader could make a cache fetch again',
  'ccreq-ma0': 'that a reader could make a cache revalidate its copy, as in the thesis',
  'ccreq-no-store': 'that a reader could keep its answer out of a cache',
  'invalidate-PUT': 'that a write through a cache made the cache drop its copy ("invalidation by side effect")',
  'invalidate-POST': 'the same',
  'invalidate-DELETE': 'the same',
  'freshness-max-age-s-maxage-shared-shorter': 'that shared caches could be given another lifetime than browsers',
  'heuristic-503-not_cached': 'that errors are not cached: ours say `no-store`',
  'status-503-fresh': 'that errors are cached if they say so',
  'freshness-none':
    'that answers without a lifetime are not cached (Varnish keeps them for two minutes): our answers always have one',
  'freshness-max-age-date': 'that a cache computes the age from `Date`',
}

export const RELIED_UPON: readonly ReliedUpon[] = [SESSIONS, PLAIN, FAST, NOT].flatMap((group, i) =>
  Object.entries(group).map(([id, entry]) => ({
    id,
    group: GROUPS[i]!,
    ...(typeof entry === 'string' ? { why: entry } : entry),
  })),
)
