/** Objects as the Data page shows them, read and written with the client. */
import { FreshetError, idOf, type StoredBytes, versionOf } from '@freshet/client'
import { database } from '../../server/database.js'
import { parseExact } from './exact-json.js'
import type { Fields } from './merge.js'

export interface ShownObject {
  /** 0 if the object does not exist. */
  readonly version: number
  readonly value?: Fields
}

export interface ShownItem {
  readonly id: string
  readonly version: number
  /** A JSON object, or a text that describes bytes. */
  readonly value: unknown
}

export interface ShownPage {
  readonly items: readonly ShownItem[]
  readonly next: string | undefined
}

export interface Asked {
  readonly kind: 'object' | 'kv' | 'counter'
  readonly prefix: string
  /** JSON, or empty. */
  readonly where: string
  readonly after: string | undefined
}

const PAGE_SIZE = 50

export async function readPage(bucket: string, { kind, prefix, where, after }: Asked): Promise<ShownPage> {
  const db = await database()
  const at = after === undefined ? {} : { after }
  if (where.trim() !== '') {
    const filter = JSON.parse(where) as Record<string, never>
    const both = prefix === '' ? filter : { $and: [filter, { $id: { $prefix: prefix } }] }
    const { items, next } = await db.bucket(bucket).query({ where: both as never, limit: PAGE_SIZE, ...at })
    return { items: items.map(itemOf), next }
  }
  const options = { limit: PAGE_SIZE, prefix, ...at }
  if (kind === 'kv') {
    const { items, next } = await db.kv(bucket).page(options)
    return { items: items.map(bytesItem), next }
  }
  const { items, next } = await db.bucket(bucket).page(options)
  return { items: items.map(itemOf), next }
}

function itemOf(stored: object): ShownItem {
  return { id: idOf(stored), version: versionOf(stored), value: stored }
}

function bytesItem({ id, version, contentType, bytes }: StoredBytes): ShownItem {
  const value = isText(contentType) ? new TextDecoder().decode(bytes) : `${bytes.length} bytes`
  return { id, version, value: `${contentType}: ${value}` }
}

/** Reads the text of the object instead of the client's value, so that numbers keep their digits. */
export async function readObject(bucket: string, id: string): Promise<ShownObject> {
  const found = await (await database()).kv(bucket).get(id)
  if (found === undefined) return { version: 0 }
  return { version: found.version, value: parseExact(new TextDecoder().decode(found.bytes)) as Fields }
}

/** Throws VERSION_CONFLICT if the object no longer has that version. Resolves with the new version. */
export async function writeObject(bucket: string, id: string, value: Fields, version: number): Promise<number> {
  const condition = { ifVersion: version === 0 ? ('absent' as const) : version, contentType: 'application/json' }
  return (await (await database()).kv(bucket).put(id, JSON.stringify(value), condition)).version
}

export interface ShownBytes {
  /** 0 if the value does not exist. */
  readonly version: number
  readonly contentType: string
  readonly bytes: Uint8Array
}

export async function readBytes(bucket: string, id: string): Promise<ShownBytes> {
  const found = await (await database()).kv(bucket).get(id)
  return found ?? { version: 0, contentType: 'text/plain; charset=utf-8', bytes: new Uint8Array() }
}

/** Throws VERSION_CONFLICT if the value no longer has that version. */
export async function writeText(
  bucket: string,
  id: string,
  text: string,
  { version, contentType }: ShownBytes,
): Promise<void> {
  const ifVersion = version === 0 ? 'absent' : version
  await (await database()).kv(bucket).put(id, text, { ifVersion, contentType })
}

export function isText(contentType: string): boolean {
  return /^(?:text\/|application\/(?:json|xml|javascript)\b|[^;]*\+(?:json|xml)\b)/.test(contentType)
}

export async function deleteObject(bucket: string, id: string, version: number): Promise<void> {
  await (await database()).bucket(bucket).delete(id, { ifVersion: version })
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof FreshetError && error.code === code
}
