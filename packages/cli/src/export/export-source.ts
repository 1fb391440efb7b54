/**
 * The source of an export: buckets with their settings, and their objects page by page; from a server or directly from a store.
 */

import type { StoreState } from '@freshet/engines/lmdb'
import type { BucketList, BucketSettings, Key, NamespaceList } from '@freshet/protocol'
import { parseJsonTree } from '@freshet/server/configuration'
import { type Content, JSON_TYPE } from '../transfer/object-lines.js'
import type { ServerCalls } from '../transfer/server-calls.js'

export interface ExportSource {
  /** The id of the log, so that no export continues with another store's data. */
  readonly log: string
  readonly position: number
  /** Whether everything is of one state, the one at `position`. */
  readonly isOneState: boolean
  buckets(): Promise<readonly ExportedBucket[]>
  page(bucket: ExportedBucket, after: string | undefined): Promise<ExportedPage>
  close(): Promise<void>
}

export interface ExportedBucket {
  readonly name: Key
  readonly settings: BucketSettings
}

export interface ExportedPage {
  readonly items: readonly (Content & { readonly id: string })[]
  readonly next?: string | undefined
}

const PAGE = 500

export async function sourceOfStore(state: StoreState, isOneState: boolean): Promise<ExportSource> {
  return {
    log: state.log,
    position: await state.position(),
    isOneState,
    async buckets() {
      const names = (await state.buckets()).map(({ bucket }) => bucket).filter(name => !name.startsWith('_'))
      const found: ExportedBucket[] = []
      for (const name of names) {
        const record = await state.get(name)
        if (record !== undefined) found.push({ name, settings: settingsOf(record.body) })
      }
      return found
    },
    async page({ name }, after) {
      const { entries, next } = await state.scan(name, { limit: PAGE, ...(after === undefined ? {} : { after }) })
      return { items: entries, next }
    },
    close: () => state.close(),
  }
}

/** The settings without those that only mean something in this store. */
function settingsOf(body: Uint8Array): BucketSettings {
  return portable(JSON.parse(Buffer.from(body).toString()) as BucketSettings)
}

function portable(settings: BucketSettings): BucketSettings {
  const {
    past: _,
    pending: __,
    migration: ___,
    deletion: ____,
    schemaVersion: _____,
    ...rest
  } = settings as BucketSettings & Readonly<Record<'past' | 'pending' | 'migration' | 'deletion', unknown>>
  return rest
}

export async function sourceOfServer(calls: ServerCalls): Promise<ExportSource> {
  const { log, position } = await calls.json<{ log: string; position: number }>(`/coherence?nonce=${Date.now()}`)
  return {
    log,
    position,
    isOneState: false,
    async buckets() {
      const { namespaces } = await calls.json<NamespaceList>('/db')
      const found: ExportedBucket[] = []
      for (const namespace of namespaces) {
        const { buckets } = await calls.json<BucketList>(`/db/${namespace}`)
        for (const { bucket, ...settings } of buckets) {
          found.push({ name: `${namespace}/${bucket}`, settings: portable(settings) })
        }
      }
      return found
    },
    async page({ name, settings }, after) {
      // With a position, so that no cache on the way answers from an older state.
      const range = after === undefined ? '' : `after=${encodeURIComponent(after).replaceAll("'", '%27')}&`
      const { text } = await calls.call(`/db/${name}?${range}at=${position}&embed&limit=${PAGE}`)
      return readPage(text, settings.kind === 'kv')
    },
    close: () => calls.close(),
  }
}

function readPage(text: string, areBytes: boolean): ExportedPage {
  const members = parseJsonTree(text, 3).members!
  const items = members.get('items')!.elements!.map(item => {
    const id = JSON.parse(item.members!.get('id')!.text) as string
    const value = item.members!.get('value')!.text
    if (!areBytes) return { id, contentType: JSON_TYPE, body: Buffer.from(value) }
    const { contentType, base64 } = JSON.parse(value) as { contentType: string; base64: string }
    return { id, contentType, body: Buffer.from(base64, 'base64') }
  })
  const next = members.get('next')
  return { items, next: next && (JSON.parse(next.text) as string) }
}
