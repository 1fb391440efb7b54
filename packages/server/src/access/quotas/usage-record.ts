/**
 * What is stored of a namespace that has a quota, under keys that no request can name:
 *
 *   _freshet/quotas/acme            how far its objects have been counted, and by which rules
 *   _freshet/usage/acme.objects     counters, which every commit adds to that changes what is counted
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
  /** The version of the rules that it began under. Under others it begins anew: what was written meanwhile may not be counted. */
  readonly rules: Version
  /** Everything in buckets before this one is counted; of this one, what is not after `after`. `END`: everything. */
  readonly bucket?: Key
  readonly after?: string
  /** All of `bucket` is counted. */
  readonly isThrough?: boolean
  readonly isDone?: boolean
}

/** Behind every bucket. */
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

/** Undefined if the key is none of these counters. */
export function usageOf(key: Key): { readonly namespace: string; readonly what: Counted } | undefined {
  if (!key.startsWith(`${USAGE}/`)) return undefined
  const [namespace, what] = idOfKey(key)!.split('.') as [string, Counted]
  return { namespace, what }
}

/** The namespace, if it is the key of its requests. */
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

/** Whether a change of this object has to be counted, since it is behind what was counted. */
export function isCounted({ bucket, after, isThrough, isDone }: CountRecord, key: Key): boolean {
  if (isDone) return true
  if (bucket === undefined) return false
  const own = bucketOfKey(key)
  if (own !== bucket) return own < bucket
  return isThrough === true || (after !== undefined && compareUtf8(idOfKey(key)!, after) <= 0)
}
