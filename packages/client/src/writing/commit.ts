/** Several writes at once, conditional on what was read, all or nothing: `POST /commit`. */
import {
  type CommitRequest,
  type CommitWrite,
  checkId,
  FreshetError,
  objectKey,
  type Path,
  parseBucketName,
  pathOfKey,
  type Version,
} from '@freshet/protocol'
import { JSON_HEADERS } from '../http/transport.js'
import { checkStorable } from '../json/storable.js'
import type { Write } from './write.js'

/** An object by its bucket (`shop/products`) and id. */
export interface ObjectRef {
  /** The name of its bucket, such as `shop/products`. */
  readonly bucket: string
  /** Its id in the bucket. */
  readonly id: string
}

/** A version that must still hold for the commit to be done; 'absent': there is no such object. */
export interface CommitRead extends ObjectRef {
  /** The `version` of what was read, or 'absent'. */
  readonly version: Version | 'absent'
}

/** One write of a commit: an object, bytes, a deletion, or an addition to a counter. */
export type CommitPart = ObjectRef & {
  /** The same as a read with this version. */
  readonly ifVersion?: Version | 'absent'
} & (
    | { readonly value: object }
    /** A JSON merge patch (RFC 7396), on condition of `ifVersion`: fields that it does not name stay as stored. */
    | { readonly patch: object }
    | { readonly bytes: Uint8Array; readonly contentType?: string }
    | { readonly delete: true }
    /** Adds to a counter; its new value is among the `values` of the answer. */
    | { readonly add: number }
  )

export function commitOf(parts: readonly CommitPart[], reads: readonly CommitRead[]): Write {
  const conditions = new Map<Path, Version>()
  for (const read of reads) conditions.set(pathOf(read), versionNumber(read.version))
  for (const part of parts) {
    if (part.ifVersion !== undefined) conditions.set(pathOf(part), versionNumber(part.ifVersion))
  }
  const body: CommitRequest = {
    ...(conditions.size === 0 ? {} : { reads: [...conditions].map(([path, version]) => ({ path, version })) }),
    writes: parts.map(toWrite),
  }
  const written = parts.map(pathOf)
  const buckets = parts.map(({ bucket }) => pathOfKey(bucket))
  return {
    request: {
      method: 'POST',
      target: '/commit',
      headers: JSON_HEADERS,
      body: JSON.stringify(body),
    },
    paths: [...new Set([...written, ...buckets])],
    deleted: parts.filter(part => 'delete' in part).map(pathOf),
    ...(parts.length === 0 ? WRITES_NOTHING : {}),
  }
}

/** A write that changes nothing may be repeated without an id. */
export const WRITES_NOTHING: Pick<Write, 'operations' | 'isIdempotent'> = { operations: [], isIdempotent: true }

function toWrite(part: CommitPart): CommitWrite {
  const path = pathOf(part)
  if ('delete' in part) {
    if (!part.delete) throw new TypeError(`${path}: delete must be true. Leave this write out to keep the object.`)
    return { path, delete: true }
  }
  if ('add' in part) return { path, add: part.add }
  if ('patch' in part) {
    checkStorable(part.patch, path)
    return { path, patch: part.patch }
  }
  if ('value' in part) {
    checkStorable(part.value, path)
    return { path, value: part.value }
  }
  if (!(part.bytes instanceof Uint8Array))
    throw new TypeError(`${path}: a write needs a value, a patch, bytes (a Uint8Array), add, or delete: true.`)
  return { path, contentType: part.contentType ?? 'application/octet-stream', base64: toBase64(part.bytes) }
}

function pathOf({ bucket, id }: ObjectRef): Path {
  checkId(id)
  return pathOfKey(objectKey({ ...parseBucketName(bucket), id }))
}

/** 0 for 'absent'. Throws OPTIONS_INVALID. */
export function versionNumber(version: Version | 'absent'): Version {
  if (version === 'absent') return 0
  if (Number.isSafeInteger(version) && version >= 0) return version
  throw new FreshetError(
    'OPTIONS_INVALID',
    `A version must be a whole number (0 or 'absent' for a missing object), not ${JSON.stringify(version)}.`,
  )
}

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(binary)
}
