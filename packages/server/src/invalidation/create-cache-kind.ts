/** The kind of a configured cache. */
import type { CacheConfig } from './cache-config.js'
import type { CacheKind } from './cache-kind.js'
import { Cloudflare } from './kinds/cloudflare.js'
import { CloudFront } from './kinds/cloudfront.js'
import { Fastly } from './kinds/fastly.js'
import { PurgingProxy, RefreshingNginx, Varnish } from './kinds/proxy.js'

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
