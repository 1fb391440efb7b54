/**
 * Which tests of http-cache-tests Freshet depends on, and for what. The suite has some 300; most are about headers that our
 * server never sends. Being stale is never at stake: sessions do not believe caches (`core/coherence/session.ts`). But that
 * rests on the first group; the second decides what those get who read without a session; the third, how much caches help.
 *
 * The last group is what one might expect to rely on, and must not: caches do not agree on it.
 */
import type { CacheKind } from '../../caches/cache-process.js'

export const GROUPS = ['sessions rest on it', 'plain readers rest on it', 'makes it fast', 'not relied upon'] as const

export interface ReliedUpon {
  readonly id: string
  readonly group: (typeof GROUPS)[number]
  readonly why: string
  /** Default: pass or yes. */
  readonly wanted?: 'no'
  /** Caches that are known to fail it, and why that does no harm. */
  readonly spared?: Readonly<Partial<Record<CacheKind, string>>>
}

type Group = Readonly<Record<string, string | Omit<ReliedUpon, 'id' | 'group'>>>

/** The argument of the window: a copy under the plain URL is no older than its lifetime, and `?at=` is a URL of its own. */
const SESSIONS: Group = {
  'query-args-different':
    '`?at=` must be a URL of its own: without it nothing holds, and clients say CACHE_UNTRUSTWORTHY',
  'status-200-stale': 'a copy that has outlived `max-age` may be older than the window remembers',
  'status-404-stale': {
    why: 'the same for "there is no such object"',
    spared: { squid: 'cannot be told, since with `negative_ttl 0` it keeps no 404 at all' },
  },
  'freshness-max-age-0': 'a bucket whose lifetime is 0 is not to be kept',
  'cc-resp-must-revalidate-stale': 'the answers say `must-revalidate`: never served after their lifetime',
  'stale-close': { why: 'nor while the server is down', wanted: 'no' },
  'freshness-max-age-age':
    'the time spent in caches before this one counts. nginx does not heed `Age`; the shipped file has it keep nothing that arrives with one',
  'cc-resp-no-store':
    'what has changed (`/coherence`) must come from the server; beside it, each request has a URL of its own',
  'cc-resp-no-store-fresh': 'the same',
  'headers-store-Test-Header': '`Freshet-Position` must come back as it was sent: sessions check it',
  'headers-store-ETag': 'the version is the ETag',
  'vary-no-match': 'compressed answers say `Vary: Accept-Encoding`',
  'vary-omit-stored': 'the same, where the first reader did not say what it accepts',
  'vary-omit': 'the same, where the second one did not',
}

const PLAIN: Group = {
  'cc-resp-private-shared': 'what needs a permission must say `private`, and then be kept by nobody else',
  'other-authorization': 'answers to requests with `Authorization` are not for others',
  'conditional-etag-precedence': {
    why: 'a date must not win over the version',
    spared: { nginx: 'it then sends the whole object instead of a 304; and our answers have no `Last-Modified`' },
  },
  'conditional-304-etag': {
    why: 'a 304 says which version it means',
    spared: { squid: 'who gets a 304 asked with one ETag, and knows which' },
  },
  '304-etag-update-response-Test-Header': {
    why: 'a revalidated copy has the position of its revalidation',
    spared: {
      nginx: 'it keeps the earlier `Freshet-Position`: the copy passes for older than it is, which is safe',
    },
  },
  'other-date-update': '`Date` tells browsers and further caches how old a copy is',
  'other-age-gen': {
    why: '`Age` tells them, too',
    spared: { nginx: 'nginx has no `Age`. The shipped file passes on the `Date` of the server, from which it follows' },
  },
  'other-age-update-max-age': { why: 'and must grow', spared: { nginx: 'the same' } },
}

const FAST: Group = {
  'freshness-max-age': 'copies are used at all',
  'status-200-fresh': 'the same',
  'status-404-fresh': {
    why: '"there is no such object" is kept as well',
    spared: { squid: 'with `negative_ttl 0` it keeps no 404, so that each costs a request to the server' },
  },
  'query-args-same': 'a URL with `?at=` is kept like any other, and shared by all who ask under it',
  'cc-resp-must-revalidate-fresh': '`must-revalidate` does not keep a copy from being used while it lives',
  'vary-match': 'compressed copies are used',
  'vary-cache-key': 'readers who differ in other headers share a copy',
  'conditional-etag-strong-respond': 'a browser that has the version is told so by the cache',
  'conditional-etag-strong-generate': 'a copy that has expired unchanged is not sent again by the server',
}

const NOT: Group = {
  'ccreq-no-cache': 'that a reader could make a cache fetch anew',
  'ccreq-ma0': 'that a reader could make a cache ask whether its copy still holds, as the thesis has it',
  'ccreq-no-store': 'that a reader could keep its answer out of a cache',
  'invalidate-PUT': 'that a write through a cache made it drop its copy ("invalidation by side effect")',
  'invalidate-POST': 'the same',
  'invalidate-DELETE': 'the same',
  'freshness-max-age-s-maxage-shared-shorter': 'that shared caches could be given another lifetime than browsers',
  'heuristic-503-not_cached': 'that errors are not kept: ours say `no-store`',
  'status-503-fresh': 'that errors are kept if they say so',
  'freshness-none':
    'that what has no lifetime is not kept (Varnish keeps it for two minutes): our answers always have one',
  'freshness-max-age-date': 'that a cache counts an age from `Date`',
}

export const RELIED_UPON: readonly ReliedUpon[] = [SESSIONS, PLAIN, FAST, NOT].flatMap((group, i) =>
  Object.entries(group).map(([id, entry]) => ({
    id,
    group: GROUPS[i]!,
    ...(typeof entry === 'string' ? { why: entry } : entry),
  })),
)
