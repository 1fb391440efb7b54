/**
 * Objects, buckets and deletions as lines of JSON, in exports and backups.
 *
 *     {"bucket":"shop/products","settings":{"kind":"object"}}       a bucket, in an export
 *     {"bucket":"shop/products","record":{...},"indexes":[...]}     a bucket's own record, in a backup
 *     {"bucket":"shop/products","id":"42","value":{"n":1}}          JSON, in the text that was stored
 *     {"bucket":"lab/notes","id":"a","contentType":"text/plain","base64":"aGk="}
 *     {"bucket":"shop/products","id":"42","delete":true}            in a backup
 *
 * A value stays as it was sent, to the last digit, so it is handled as text.
 */
import type { IndexDeclaration } from '@freshet/core/store'
import { checkId, FreshetError, type Key, parseBucketName } from '@freshet/protocol'
import { type JsonNode, parseJsonTree } from '@freshet/server/configuration'

export const JSON_TYPE = 'application/json'

export interface Content {
  readonly contentType: string
  readonly body: Uint8Array
}

export interface ObjectLine extends Content {
  readonly kind: 'object'
  readonly bucket: Key
  readonly id: string
}

export type DataLine =
  | ObjectLine
  | { readonly kind: 'delete'; readonly bucket: Key; readonly id: string }
  | { readonly kind: 'settings'; readonly bucket: Key; readonly settings: string }
  | {
      readonly kind: 'record'
      readonly bucket: Key
      /** Undefined: the bucket is deleted. */
      readonly content: Content | undefined
      readonly indexes: readonly IndexDeclaration[] | undefined
    }
  /** Anything else that is an object: heads, marks and ends. */
  | { readonly kind: 'other'; readonly value: Readonly<Record<string, unknown>> }

/** How lines keep JSON that contains line breaks: byte for byte, or readable, with spaces instead. */
export type Spelling = 'exact' | 'readable'

export function objectLine(bucket: Key, id: string, { contentType, body }: Content, spelling: Spelling): string {
  const head = `{"bucket":${JSON.stringify(bucket)},"id":${JSON.stringify(id)}`
  const text = contentType === JSON_TYPE ? oneLine(body, spelling) : undefined
  return `${head},${text === undefined ? inBase64(contentType, body) : `"value":${text}`}}`
}

export function deleteLine(bucket: Key, id: string): string {
  return JSON.stringify({ bucket, id, delete: true })
}

export function recordLine(
  bucket: Key,
  content: Content | undefined,
  indexes: readonly IndexDeclaration[] | undefined,
): string {
  const head = `{"bucket":${JSON.stringify(bucket)},"record":`
  if (content === undefined) return `${head}null}`
  const text = content.contentType === JSON_TYPE ? oneLine(content.body, 'exact') : undefined
  const record = text ?? `{${inBase64(content.contentType, content.body)}}`
  return `${head}${record}${indexes === undefined ? '' : `,"indexes":${JSON.stringify(indexes)}`}}`
}

/** Undefined if the body cannot be put into a line unchanged. In valid JSON, a line break is white space between tokens. */
function oneLine(body: Uint8Array, spelling: Spelling): string | undefined {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const text = bytes.toString()
  const isPlain = !/[\r\n]/.test(text) && Buffer.byteLength(text) === bytes.length && text === text.trim()
  if (isPlain) return text
  return spelling === 'readable' ? text.replaceAll(/[\r\n]+/g, ' ').trim() : undefined
}

function inBase64(contentType: string, body: Uint8Array): string {
  return `"contentType":${JSON.stringify(contentType)},"base64":${JSON.stringify(Buffer.from(body).toString('base64'))}`
}

/** Throws an Error whose message says what is wrong with the line. */
export function readLine(text: string): DataLine {
  const value = parse(text)
  if (value.bucket === undefined) return { kind: 'other', value }
  const { bucket, id } = value
  if (typeof bucket !== 'string') throw new Error('bucket must be a name such as "shop/products"')
  const { members } = parseJsonTree(text, 1)
  if (id === undefined && members!.has('record')) return readRecord(bucket, members!, value)
  checkBucket(bucket)
  if (id === undefined && members!.has('settings')) {
    return { kind: 'settings', bucket, settings: members!.get('settings')!.text }
  }
  if (typeof id !== 'string') throw new Error('id must be a text')
  if (!bucket.startsWith('_')) checkId(id)
  if (value.delete === true) return { kind: 'delete', bucket, id }
  return { kind: 'object', bucket, id, ...contentOf(members!, value) }
}

/** Freshet's own buckets, such as `_freshet/tasks`, cannot be named in requests. */
function checkBucket(bucket: string): void {
  if (!/^_freshet\/[a-z-]+$/.test(bucket)) parseBucketName(bucket)
}

function readRecord(
  bucket: Key,
  members: ReadonlyMap<string, JsonNode>,
  { record, indexes }: Readonly<Record<string, unknown>>,
): DataLine {
  checkBucket(bucket)
  const declared = indexes as readonly IndexDeclaration[] | undefined
  if (record === null) return { kind: 'record', bucket, content: undefined, indexes: declared }
  const { base64 } = (record ?? {}) as { base64?: unknown }
  const content =
    typeof base64 === 'string'
      ? contentOf(parseJsonTree(members.get('record')!.text, 1).members!, record as Record<string, unknown>)
      : { contentType: JSON_TYPE, body: Buffer.from(members.get('record')!.text) }
  return { kind: 'record', bucket, content, indexes: declared }
}

function contentOf(
  members: ReadonlyMap<string, JsonNode>,
  { contentType, base64 }: Readonly<Record<string, unknown>>,
): Content {
  const node = members.get('value')
  if (node !== undefined) return { contentType: JSON_TYPE, body: Buffer.from(node.text) }
  if (typeof contentType !== 'string' || typeof base64 !== 'string') {
    throw new Error('it needs a value, or contentType and base64')
  }
  return { contentType, body: Buffer.from(base64, 'base64') }
}

function parse(text: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new Error(`it is not JSON: ${(cause as Error).message}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new Error('it is not a JSON object')
}

/** The message of what `readLine` threw. */
export function reasonOf(error: unknown): string {
  const { message } = error as Error
  return error instanceof FreshetError ? message.replace(/\.$/, '') : message
}
