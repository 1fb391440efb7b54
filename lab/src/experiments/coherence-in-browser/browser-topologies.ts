/** The caches between a browser, which has a cache of its own, and the server. */
import type { CacheKind, RunningCache } from '../../caches/cache-process.js'
import { startSquid } from '../../caches/squid.js'
import { startVarnish } from '../../caches/varnish.js'

export interface BrowserTopology {
  readonly name: string
  readonly kinds: readonly CacheKind[]
  /** The hops, as shown to the visitor of the page. */
  readonly way: readonly string[]
  start(origin: string): Promise<RunningWay>
}

export interface RunningWay {
  /** The base URL of the page and its data. */
  readonly url: string
  /** The proxy to which the browser sends all requests. */
  readonly proxy?: string
  readonly caches: readonly RunningCache[]
}

export const BROWSER_TOPOLOGIES: readonly BrowserTopology[] = [
  {
    name: 'the browser alone',
    kinds: [],
    way: ["browser's cache", 'server'],
    start: async origin => ({ url: origin, caches: [] }),
  },
  {
    name: 'Squid before Varnish',
    kinds: ['squid', 'varnish'],
    way: ["browser's cache", 'Squid', 'Varnish', 'server'],
    start: async origin => {
      const varnish = await startVarnish({ origin })
      const squid = await startSquid({ origin: varnish.url })
      return { url: squid.url, caches: [squid, varnish] }
    },
  },
  {
    name: 'forward Squid before Varnish',
    kinds: ['squid', 'varnish'],
    way: ["browser's cache", "company's Squid", 'Varnish', 'server'],
    start: async origin => {
      const varnish = await startVarnish({ origin })
      const squid = await startSquid({ origin: undefined })
      return { url: varnish.url, proxy: squid.url, caches: [squid, varnish] }
    },
  },
]
