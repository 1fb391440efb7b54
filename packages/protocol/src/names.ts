/**
 * The names of namespaces, buckets and ids; the key by which a store knows an object; and the object's one URL path.
 *
 *     key    shop/products/42 & 43          in stores and the change log
 *     path   /db/shop/products/42%20%26%2043   in URLs, caches and the sketch
 *
 * A path has exactly one spelling: ids are encoded as `encodeURIComponent` does, nothing more and nothing less. A cache
 * keeps copies by spelling, so two spellings of one object would be two copies, and a sketch could name only one of them.
 * Ids contain no slash: proxies disagree about %2F.
 */
import { FreshetError } from './freshet-error.js'

export const ID_BYTES_MAX = 512

/** `shop/products`, the key of a bucket, or `shop/products/42`, that of an object. */
export type Key = string
/** `/db/shop/products` or `/db/shop/products/42`: canonical, without a query. */
export type Path = string

export interface ObjectName {
  readonly namespace: string
  readonly bucket: string
  readonly id: string
}

const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/
/** Ids that need no encoding and no further check: by far the most. */
const PLAIN_ID = /^[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,199}$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: it must find exactly these
const FORBIDDEN_IN_ID = /[\u0000-\u001f\u007f-\u009f/\\]/
const DB = '/db/'

export function isName(text: string): boolean {
  return NAME.test(text)
}

/** Throws NAME_INVALID unless `text` can name a namespace or a bucket. */
export function checkName(kind: 'namespace' | 'bucket', text: string): void {
  if (isName(text)) return
  throw new FreshetError(
    'NAME_INVALID',
    `${quote(text)} cannot name a ${kind}. Use 1 to 63 of a-z, 0-9, - and _, and begin with a letter or a digit.`,
  )
}

/** Throws NAME_INVALID unless `id` can name an object. */
export function checkId(id: string): void {
  // JavaScript callers may pass anything, and `undefined` would be a valid id as text.
  if (typeof id !== 'string')
    throw new TypeError(`An id must be a string, not ${typeOf(id)}: pass String(id) for a number.`)
  if (PLAIN_ID.test(id)) return
  const reason = objectionToId(id)
  if (reason) throw new FreshetError('NAME_INVALID', `${quote(id)} cannot be an id: ${reason}.`)
}

function objectionToId(id: string): string | undefined {
  if (id === '') return 'it is empty'
  if (id === '.' || id === '..') return 'in a URL, . and .. have another meaning'
  if (FORBIDDEN_IN_ID.test(id))
    return 'it contains a slash, a backslash or a control character, which proxies may change'
  if (!isWellFormed(id)) return 'it contains half of a surrogate pair, which UTF-8 cannot encode'
  if (id.length * 3 > ID_BYTES_MAX && new TextEncoder().encode(id).length > ID_BYTES_MAX) {
    return `it is longer than ${ID_BYTES_MAX} bytes`
  }
  return undefined
}

function isWellFormed(text: string): boolean {
  try {
    encodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

const BUCKET_FORM = 'A bucket is named as namespace/bucket, such as shop/products'

/** Splits `shop/products` and checks both names. */
export function parseBucketName(text: string): { readonly namespace: string; readonly bucket: string } {
  // JavaScript callers may pass anything.
  if (typeof text !== 'string') throw new TypeError(`${BUCKET_FORM}, not ${typeOf(text)}.`)
  const [namespace = '', bucket = '', ...rest] = text.split('/')
  if (rest.length > 0 || bucket === '') {
    throw new FreshetError('NAME_INVALID', `${BUCKET_FORM}, not ${quote(text)}.`)
  }
  checkName('namespace', namespace)
  checkName('bucket', bucket)
  return { namespace, bucket }
}

export function objectKey({ namespace, bucket, id }: ObjectName): Key {
  return `${namespace}/${bucket}/${id}`
}

/** The bucket that an object's key belongs to; a bucket's key is its own. */
export function bucketOfKey(key: Key): Key {
  const end = key.indexOf('/', key.indexOf('/') + 1)
  return end === -1 ? key : key.slice(0, end)
}

/** The id in an object's key; undefined in a bucket's. */
export function idOfKey(key: Key): string | undefined {
  const end = key.indexOf('/', key.indexOf('/') + 1)
  return end === -1 ? undefined : key.slice(end + 1)
}

/** The path of a key. The key must be valid. */
export function pathOfKey(key: Key): Path {
  const id = idOfKey(key)
  if (id === undefined || PLAIN_ID.test(id)) return DB + key
  return `${DB}${bucketOfKey(key)}/${encodeURIComponent(id)}`
}

/** The path of an object in the bucket with this path. Throws NAME_INVALID. */
export function pathInBucket(bucket: Path, id: string): Path {
  if (typeof id === 'string' && PLAIN_ID.test(id)) return `${bucket}/${id}`
  checkId(id)
  return `${bucket}/${encodeURIComponent(id)}`
}

/**
 * The key of the bucket or object that a path below /db/ names. Throws NAME_INVALID for impossible names, and URL_INVALID for a
 * spelling that is not canonical; its details then have `canonical`, if there is a canonical spelling.
 */
export function keyOfPath(path: string): Key {
  if (!path.startsWith(DB)) throw notCanonical(path)
  const parts = path.slice(DB.length).split('/')
  if (parts.length < 2 || parts.length > 3) throw notCanonical(path)
  const [namespace, bucket, id] = parts.map(part => decode(part, path)) as [string, string, string | undefined]
  checkName('namespace', namespace)
  checkName('bucket', bucket)
  if (id !== undefined) checkId(id)
  const key = id === undefined ? `${namespace}/${bucket}` : `${namespace}/${bucket}/${id}`
  const canonical = pathOfKey(key)
  if (canonical !== path) throw notCanonical(path, canonical)
  return key
}

function decode(part: string, path: string): string {
  try {
    return decodeURIComponent(part)
  } catch (cause) {
    throw new FreshetError('URL_INVALID', `${quote(path)} is not percent-encoded UTF-8.`, { cause })
  }
}

function notCanonical(path: string, canonical?: string): FreshetError {
  return new FreshetError(
    'URL_INVALID',
    canonical === undefined
      ? `${quote(path)} does not name a bucket or an object. Use /db/{namespace}/{bucket}/{id}.`
      : `${quote(path)} is not the canonical spelling of this path. Use ${canonical}`,
    canonical === undefined ? {} : { details: { canonical } },
  )
}

/** For messages: bounded, and without line breaks. */
function typeOf(value: unknown): string {
  return value === null ? 'null' : typeof value
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
