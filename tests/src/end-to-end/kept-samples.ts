/** The samples of the demo page, for tests of what a cache has of them. */
import type { BucketSettings } from '@freshet/protocol'
import type { FreshetProcess } from './freshet-process.js'

/** Longer than any test takes, also on a busy machine. */
const LIFETIME_MS = 600_000

/** No copy expires while a test looks at it. */
export async function keepCopies({ url }: FreshetProcess): Promise<void> {
  const settings: BucketSettings = { kind: 'object', lifetimeMs: LIFETIME_MS }
  const headers = { 'content-type': 'application/json' }
  const { status } = await fetch(`${url}/db/shop/products`, { method: 'PUT', headers, body: JSON.stringify(settings) })
  if (status !== 200) throw new Error(`The settings were answered with ${status}.`)
}
