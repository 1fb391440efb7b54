/** A few objects for trying things out, written as any client would write them. */
import type { BucketSettings, CommitRequest } from '@freshet/protocol'

const BUCKET = '/db/shop/products'
/** Short enough to watch copies expire, long enough to see them stale. */
const LIFETIME_MS = 30_000

const PRODUCTS: Readonly<Record<string, unknown>> = {
  tea: { name: 'Green tea', price: 12 },
  mug: { name: 'Blue mug', price: 19 },
  kettle: { name: 'Kettle', price: 35 },
}

export const SAMPLE_PATH: string = `${BUCKET}/tea`

export async function writeSamples(url: string, lifetimeMsMax: number): Promise<void> {
  const settings: BucketSettings = { kind: 'object', lifetimeMs: Math.min(LIFETIME_MS, lifetimeMsMax) }
  const commit: CommitRequest = {
    writes: Object.entries(PRODUCTS).map(([id, value]) => ({ path: `${BUCKET}/${id}`, value })),
  }
  await send('PUT', `${url}${BUCKET}`, settings)
  await send('POST', `${url}/commit`, commit)
}

async function send(method: string, url: string, body: unknown): Promise<void> {
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = await response.text()
  if (!response.ok) throw new Error(`The sample objects could not be written: ${response.status} ${answer}`)
}
