/** Which caches are on the way, as far as their headers reveal them. */
import type { IncomingHttpHeaders } from 'node:http'

/** The caches for which there is configuration advice. */
export type AdvisedCache = 'varnish' | 'squid' | 'nginx'

export interface CacheSeen {
  readonly name: string
  readonly kind: AdvisedCache | undefined
  /** The header that revealed it. */
  readonly by: string
}

interface Sign {
  readonly name: string
  readonly kind?: AdvisedCache
  readonly header: string
  readonly pattern: RegExp
}

const SIGNS: readonly Sign[] = [
  { name: 'Varnish', kind: 'varnish', header: 'x-varnish', pattern: /^\d+/ },
  { name: 'Varnish', kind: 'varnish', header: 'via', pattern: /varnish/i },
  { name: 'Squid', kind: 'squid', header: 'via', pattern: /squid/i },
  { name: 'Squid', kind: 'squid', header: 'server', pattern: /^squid/i },
  // Freshet sends no Server header.
  { name: 'nginx', kind: 'nginx', header: 'server', pattern: /^(?:nginx|openresty)/i },
  { name: 'Traffic Server', header: 'via', pattern: /ApacheTrafficServer/ },
  { name: 'Traffic Server', header: 'server', pattern: /^ATS\b/ },
  { name: 'Cloudflare', header: 'cf-ray', pattern: /./ },
  { name: 'CloudFront', header: 'x-amz-cf-id', pattern: /./ },
  { name: 'Fastly', header: 'x-served-by', pattern: /^cache-/ },
  { name: 'HAProxy', header: 'server', pattern: /haproxy/i },
]

/** Each cache once, in no particular order: headers do not show which cache comes first. */
export function cachesSeenIn(headers: IncomingHttpHeaders): readonly CacheSeen[] {
  const seen = new Map<string, CacheSeen>()
  for (const { name, kind, header, pattern } of SIGNS) {
    const value = String(headers[header] ?? '')
    if (!seen.has(name) && pattern.test(value)) seen.set(name, { name, kind, by: `${header}: ${value}` })
  }
  return [...seen.values()]
}
