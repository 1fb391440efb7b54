/** What a page without Freshet does: `fetch`, with whatever the caches return. */
import { type Product, pathOf } from './products.js'
import type { Reading } from './reading.js'
import { transferSizeOf, whereFrom } from './where-from.js'

export async function readPlain(id: string): Promise<Reading> {
  const url = pathOf(id)
  const beganMs = Date.now()
  const startedMs = performance.now()
  const response = await fetch(url, { credentials: 'omit' })
  const body: unknown = await response.json()
  const transferSize = await transferSizeOf(new URL(url, location.href).href, startedMs)
  return {
    id,
    product: response.ok ? (body as Product) : undefined,
    version: Number(/\d+/.exec(response.headers.get('etag') ?? '')?.[0] ?? 0),
    source: whereFrom({ transferSize: transferSize ?? 1, header: name => response.headers.get(name) }),
    url,
    ...timesOf(response),
    beganMs,
  }
}

/** The age is computed from the answer's Date, which caches keep. */
export function timesOf({ headers }: Response): Pick<Reading, 'ageMs' | 'lifetimeMs'> {
  const dateMs = Date.parse(headers.get('date') ?? '')
  const maxAge = /max-age=(\d+)/.exec(headers.get('cache-control') ?? '')?.[1]
  return {
    ageMs: Number.isNaN(dateMs) ? 0 : Math.max(0, Date.now() - dateMs),
    lifetimeMs: Number(maxAge ?? 0) * 1000,
  }
}
