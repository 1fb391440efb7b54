/** The samples of the demo page, for tests of a cache's copies of them. */
import type { BucketSettings } from '@freshet/protocol'
import type { FreshetProcess } from './freshet-process.js'

/** Longer than any test, even on a busy machine. */
const LIFETIME_MS = 600_000

/** Makes sure that no copy expires while a test looks at it. */
export async function keepCopies({ url }: FreshetProcess): Promise<void> {
  const settings: BucketSettings = { kind: 'object', lifetimeMs: LIFETIME_MS }
  const headers = { 'content-type': 'application/json' }
  const { status } = await fetch(`${url}/db/shop/products`, { method: 'PUT', headers, body: JSON.stringify(settings) })
  if (status !== 200) throw new Error(`The server answered the settings with status ${status}.`)
}
