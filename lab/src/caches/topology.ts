/** Arrangements of caches between readers and a server: each alone, one behind another, side by side. */
import type { Fetch } from '@freshet/client'
import type { CacheKind, RunningCache } from './cache-process.js'
import { startNginx } from './nginx.js'
import { createProxyFetch } from './proxy-fetch.js'
import type { SlowOrigin } from './slow-origin.js'
import { startSquid } from './squid.js'
import { startVarnish } from './varnish.js'

export interface Topology {
  readonly name: string
  readonly kinds: readonly CacheKind[]
  start(origin: string): Promise<RunningTopology>
}

export interface RunningTopology {
  /** The URL for readers. */
  readonly url: string
  readonly fetch: Fetch
  readonly caches: readonly RunningCache[]
  stop(): Promise<void>
}

const direct: Fetch = (url, init) => fetch(url, init)

export const TOPOLOGIES: readonly Topology[] = [
  {
    name: 'Varnish',
    kinds: ['varnish'],
    start: async origin => inARow([await startVarnish({ origin })]),
  },
  {
    name: 'Squid',
    kinds: ['squid'],
    start: async origin => inARow([await startSquid({ origin })]),
  },
  {
    name: 'Squid, collapsed forwarding',
    kinds: ['squid'],
    start: async origin => inARow([await startSquid({ origin, isCollapsing: true })]),
  },
  {
    name: 'nginx',
    kinds: ['nginx'],
    start: async origin => inARow([await startNginx({ origin })]),
  },
  {
    name: 'Squid before Varnish',
    kinds: ['squid', 'varnish'],
    start: async origin => {
      const varnish = await startVarnish({ origin })
      return inARow([await startSquid({ origin: varnish.url, isCollapsing: true }), varnish])
    },
  },
  {
    name: 'forward Squid before nginx',
    kinds: ['squid', 'nginx'],
    start: async origin => {
      const nginx = await startNginx({ origin })
      const squid = await startSquid({ origin: undefined })
      return { ...inARow([nginx, squid]), fetch: createProxyFetch(squid.url) }
    },
  },
  {
    name: 'Varnish beside nginx',
    kinds: ['varnish', 'nginx'],
    start: async origin => sideBySide([await startVarnish({ origin }), await startNginx({ origin })]),
  },
]

/** Works behind these caches, in front of a server that is starting; then stops both. */
export async function runThrough<Origin extends SlowOrigin, Result>(
  topology: Topology,
  starting: Promise<Origin>,
  work: (origin: Origin, running: RunningTopology) => Promise<Result>,
): Promise<Result> {
  const origin = await starting
  try {
    const running = await topology.start(origin.url)
    try {
      return await work(origin, running)
    } finally {
      await running.stop()
    }
  } finally {
    await origin.stop()
  }
}

/** Readers send requests to the first. */
function inARow(caches: readonly RunningCache[]): RunningTopology {
  return { url: caches[0]!.url, fetch: direct, caches, stop: () => stopAll(caches) }
}

/** Each request goes to any of them, as behind a load balancer that ignores the client. */
function sideBySide(caches: readonly RunningCache[]): RunningTopology {
  const { url } = caches[0]!
  const pick = () => caches[Math.floor(Math.random() * caches.length)]!
  return {
    url,
    fetch: (target, init) => fetch(pick().url + target.slice(url.length), init),
    caches,
    stop: () => stopAll(caches),
  }
}

async function stopAll(caches: readonly RunningCache[]): Promise<void> {
  await Promise.all(caches.map(cache => cache.stop()))
}
