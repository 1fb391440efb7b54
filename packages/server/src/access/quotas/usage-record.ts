/**
 * What is stored about a namespace that has a quota, under keys that no request can name:
 *
 *   _freshet/quotas/acme            how far its objects have been counted, and by which rules
 *   _freshet/usage/acme.objects     counters; every commit that changes what is counted adds to them
 *   _freshet/usage/acme.bytes
 *   _freshet/requests/acme          the period, and how many requests servers have taken of it
 */
import type { Write } from '@freshet/core/store'
import { bucketOfKey, compareUtf8, idOfKey, type Key, type Version } from '@freshet/protocol'
import { JSON_TYPE } from '../../http/answer.js'

export const QUOTAS: Key = '_freshet/quotas'
const USAGE: Key = '_freshet/usage'
const REQUESTS: Key = '_freshet/requests'

export type Counted = 'objects' | 'bytes'

export interface CountRecord {
  /**
   * The version of the rules under which the count began. Under other rules it starts again: writes in between may not have
   * been counted.
   */
  readonly rules: Version
  /** Everything in buckets before this one is counted; in this one, everything up to `after`. `END`: everything. */
  readonly bucket?: Key
  readonly after?: string
  /** All of `bucket` is counted. */
  readonly isThrough?: boolean
  readonly isDone?: boolean
}

/** Sorts after every bucket. */
export const END: Key = '~'

export function recordKey(namespace: string): Key {
  return `${QUOTAS}/${namespace}`
}

export function usageKey(namespace: string, what: Counted): Key {
  return `${USAGE}/${namespace}.${what}`
}

export function requestsKey(namespace: string): Key {
  return `${REQUESTS}/${namespace}`
}

/** Undefined if the key is not one of these counters. */
export function usageOf(key: Key): { readonly namespace: string; readonly what: Counted } | undefined {
  if (!key.startsWith(`${USAGE}/`)) return undefined
  const [namespace, what] = idOfKey(key)!.split('.') as [string, Counted]
  return { namespace, what }
}

/** The namespace, if the key is that of a namespace's requests. */
export function requestedOf(key: Key): string | undefined {
  return key.startsWith(`${REQUESTS}/`) ? idOfKey(key) : undefined
}

export function isRecordKey(key: Key): boolean {
  return key.startsWith(`${QUOTAS}/`)
}

export function namespaceOf(key: Key): string {
  return key.slice(0, key.indexOf('/'))
}

export function recordWrite(namespace: string, record: CountRecord): Write {
  return { key: recordKey(namespace), contentType: JSON_TYPE, body: Buffer.from(JSON.stringify(record)) }
}

export function decodeRecord(body: Uint8Array): CountRecord {
  return JSON.parse(new TextDecoder().decode(body)) as CountRecord
}

/** Whether a change of this object must be counted, because the count has passed its key. */
export function isCounted({ bucket, after, isThrough, isDone }: CountRecord, key: Key): boolean {
  if (isDone) return true
  if (bucket === undefined) return false
  const own = bucketOfKey(key)
  if (own !== bucket) return own < bucket
  return isThrough === true || (after !== undefined && compareUtf8(idOfKey(key)!, after) <= 0)
}
