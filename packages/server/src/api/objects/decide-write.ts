/** The outcome of a request to write one object, given what is stored. This only decides; `object-writes.ts` acts. */
import type { StoredValue, Write } from '@freshet/core/store'
import { FreshetError, type Key, pathOfKey } from '@freshet/protocol'
import type { Caller } from '../../access/caller.js'
import type { Right } from '../../access/rules/rights.js'
import type { Bucket } from '../../buckets/bucket-directory.js'
import { migrated } from '../../buckets/migrated.js'
import type { ObjectName } from '../../buckets/object-name.js'
import { versionConflict } from '../../buckets/refusals.js'
import { JSON_TYPE } from '../../http/answer.js'
import type { Conditions } from '../../http/conditions.js'
import { isJson, notJson, readContentType } from '../../http/content-types.js'
import { checkObjectSize } from '../../http/request-body.js'
import type { AskedOperation } from '../../idempotency/read-operation.js'
import { readJsonObject } from '../../json/json-text.js'
import { mergePatch } from '../../json/merge-patch.js'
import type { ServerSettings } from '../../settings/server-settings.js'
import { SETTINGS_BY_DEFAULT } from '../../writing/committer.js'
import { areAdditions, counterWrite, noCounter } from '../../writing/counter-values.js'

interface Asked extends ObjectName {
  readonly conditions: Conditions
  /** Undefined: everybody may do everything. */
  readonly caller: Caller | undefined
  readonly operation: AskedOperation | undefined
}

/** `create`: under an id that the server makes. */
export type AskedWrite = Asked &
  (
    | { readonly kind: 'put' | 'create'; readonly contentType: string | undefined; readonly body: Buffer }
    | { readonly kind: 'patch'; readonly patch: string }
    | { readonly kind: 'delete' }
  )

export interface WriteKind {
  /** The rights of which the write requires one, depending on what is stored. */
  readonly rights: readonly Right[]
  /** Whether what is written depends on what is stored. Then no other write may come between. */
  readonly dependsOnCurrent: boolean
  /** Whether its refusals depend on what is stored, and so reveal something about it. */
  readonly isTelling: boolean
}

export const WRITE_KINDS: Readonly<Record<AskedWrite['kind'], WriteKind>> = {
  put: { rights: ['create', 'update'], dependsOnCurrent: false, isTelling: false },
  create: { rights: ['create'], dependsOnCurrent: true, isTelling: false },
  patch: { rights: ['update'], dependsOnCurrent: true, isTelling: true },
  delete: { rights: ['delete'], dependsOnCurrent: true, isTelling: true },
}

/** Throws a refusal. `bucket` undefined: this write would create the bucket. */
export function decideWrite(
  asked: AskedWrite,
  current: StoredValue | undefined,
  bucket: Bucket | undefined,
  settings: ServerSettings,
): Write {
  const { kind, key, conditions } = asked
  if (kind === 'patch') return decidePatch(asked, current, bucket, settings)
  if (kind === 'delete') {
    if (current !== undefined) return { key, delete: true }
    // If-None-Match: * holds if the object is absent, but then there is nothing to delete.
    throw conditions.match === undefined ? nothingThere(key) : versionConflict(key, 0)
  }
  // Otherwise, each retry of additions would store another object.
  if (kind === 'create' && areAdditions(asked.body)) throw noCounter(asked.bucket)
  return decidePut(asked, bucket, settings)
}

function decidePut(
  { key, bucket: bucketKey, contentType, body }: AskedWrite & { readonly kind: 'put' | 'create' },
  bucket: Bucket | undefined,
  settings: ServerSettings,
): Write {
  const bucketSettings = bucket?.settings ?? SETTINGS_BY_DEFAULT
  if (bucketSettings.kind === 'kv') return { key, contentType: readContentType(contentType), body }
  if (bucketSettings.kind === 'counter') return counterWrite(key, body, bucketSettings)
  if (contentType !== undefined && !isJson(contentType)) throw notJson(bucketKey, contentType, bucket === undefined)
  readObject(body, settings)
  return { key, contentType: JSON_TYPE, body }
}

function decidePatch(
  { key, patch }: AskedWrite & { readonly kind: 'patch' },
  found: StoredValue | undefined,
  bucket: Bucket | undefined,
  settings: ServerSettings,
): Write {
  const current = found && migrated(key, bucket, found)
  const { kind } = bucket?.settings ?? SETTINGS_BY_DEFAULT
  if (kind !== 'object') {
    throw new FreshetError('CONTENT_TYPE_UNSUPPORTED', `${pathOfKey(key)} is in a ${kind} bucket. Replace it with PUT.`)
  }
  if (current === undefined) throw nothingThere(key)
  const body = Buffer.from(mergePatch(new TextDecoder().decode(current.body), patch))
  checkObjectSize('The patched object', body, settings.bodyBytesMax)
  readObject(body, settings)
  return { key, contentType: JSON_TYPE, body }
}

/** Returns its text. Throws BODY_INVALID. */
export function readObject(body: Uint8Array, settings: ServerSettings): string {
  return readJsonObject(body, settings)
}

function nothingThere(key: Key): FreshetError {
  return new FreshetError('OBJECT_NOT_FOUND', `There is no object ${pathOfKey(key)}. Create it with PUT.`)
}
