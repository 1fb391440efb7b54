/**
 * Reads with Freshet's caches, in the server over the store and in its client. `cached`: as current as reads without a cache,
 * since the server first asks the store for its position. `client`: at most a second old.
 */
import { connect } from '@freshet/client'
import type { Store } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { createFreshetServer } from '@freshet/server'
import { BODY, type EnginesSettings, type Target, TYPE } from './engine-target.js'

const BYTES_MAX = 64 * 1024 * 1024
const IN_FLIGHT = 64

export async function openCachedTarget(
  { kind }: EnginesSettings,
  openStore: () => Promise<Store>,
  keys: readonly string[],
): Promise<Target> {
  const [store, other] = [await openStore(), await openStore()]
  const put = (key: string) => other.commit({ writes: [{ key, contentType: TYPE, body: BODY }] })
  for (let from = 0; from < keys.length; from += IN_FLIGHT) {
    await Promise.all(keys.slice(from, from + IN_FLIGHT).map(put))
  }
  const server = createFreshetServer({ store, settings: { hotCacheBytesMax: BYTES_MAX } })
  const { url } = await server.listen({ port: 0 })
  return {
    get: kind === 'client' ? await readsOfClient(url) : key => server.get(key),
    batch: 1,
    // A change that is refused is left out; the next one follows soon.
    change: key => put(key).catch(onRefused),
  }
}

function onRefused(error: unknown): void {
  if (!(error instanceof FreshetError && error.code === 'STORE_UNAVAILABLE')) throw error
}

async function readsOfClient(url: string): Promise<(key: string) => Promise<unknown>> {
  const bucket = (await connect(url, { refresh: 'push', memoryBytesMax: BYTES_MAX })).bucket('a/b')
  return key => bucket.get(key.slice('a/b/'.length))
}
