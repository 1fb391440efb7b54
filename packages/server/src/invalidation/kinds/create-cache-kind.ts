/** Creates the kind of a configured cache. */
import type { CacheConfig } from '../cache-config.js'
import type { CacheKind } from '../cache-kind.js'
import { Cloudflare } from './cloudflare.js'
import { CloudFront } from './cloudfront.js'
import { Fastly } from './fastly.js'
import { PurgingProxy, RefreshingNginx, Varnish } from './proxy.js'

export function createCacheKind(config: CacheConfig): CacheKind {
  switch (config.kind) {
    case 'varnish':
      return new Varnish(config)
    case 'squid':
    case 'traffic-server':
      return new PurgingProxy(config)
    case 'nginx':
      return new RefreshingNginx(config)
    case 'fastly':
      return new Fastly(config)
    case 'cloudflare':
      return new Cloudflare(config)
    case 'cloudfront':
      return new CloudFront(config)
  }
}
