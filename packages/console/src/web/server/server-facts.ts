/** What the server reports about itself, and its buckets: loaded once, and again when a page needs it. */
import type { BucketSettings } from '@freshet/client'
import { type ReadonlySignal, signal } from '@preact/signals'
import { call } from './call.js'

export interface ServerFacts {
  readonly version: string
  readonly node: string
  readonly pid: number
  readonly startedMs: number
  readonly log: string
  readonly supports: {
    readonly durability: 'disk' | 'relaxed' | 'none'
    readonly retentionMs: number
  }
  readonly has: Readonly<Record<'access' | 'caches' | 'doctor' | 'shards' | 'ring' | 'replicas', boolean>>
  readonly settings: Readonly<Record<string, unknown>>
}

export interface NamedBucket extends BucketSettings {
  /** `shop/products` */
  readonly name: string
}

const facts = signal<ServerFacts | undefined>(undefined)
const buckets = signal<readonly NamedBucket[] | undefined>(undefined)

export const serverFacts: ReadonlySignal<ServerFacts | undefined> = facts
/** Undefined until they are known. */
export const knownBuckets: ReadonlySignal<readonly NamedBucket[] | undefined> = buckets

/** Drops what was loaded before, so that nothing that one user may see is left for another. */
export async function loadFacts(): Promise<void> {
  facts.value = undefined
  buckets.value = undefined
  facts.value = await call<ServerFacts>('/server')
}

export async function loadBuckets(): Promise<void> {
  const { namespaces } = await call<{ namespaces: readonly string[] }>('/db')
  const lists = await Promise.all(
    namespaces.map(async namespace => {
      const { buckets } = await call<{ buckets: readonly (BucketSettings & { bucket: string })[] }>(`/db/${namespace}`)
      return buckets.map(({ bucket, ...settings }) => ({ ...settings, name: `${namespace}/${bucket}` }))
    }),
  )
  buckets.value = lists.flat()
}
