/** Reads and checks the body of `POST /commit`. Throws BODY_INVALID, LIMIT_EXCEEDED, NAME_INVALID, URL_INVALID. */
import type { LeaseAsk, ReadList, ReadVersion } from '@freshet/core/store'
import {
  FreshetError,
  idOfKey,
  type Key,
  keyOfPath,
  type Path,
  partsOfTag,
  type Tag,
  type Version,
} from '@freshet/protocol'
import { checkObjectSize } from '../../http/request-body.js'
import { checkExact, type JsonNode, parseJsonTree, readJsonObject } from '../../json/json-text.js'
import { overLimit } from '../../settings/limits.js'
import type { ServerSettings } from '../../settings/server-settings.js'

export interface ReadCommit {
  readonly reads: readonly ReadVersion[]
  readonly lists: readonly ReadList[]
  readonly writes: readonly RequestedWrite[]
  readonly lease?: LeaseAsk
}

export type RequestedWrite =
  | { readonly key: Key; readonly kind: 'json'; readonly body: Uint8Array }
  /** Of an object that is among the reads. */
  | { readonly key: Key; readonly kind: 'patch'; readonly patch: string }
  | { readonly key: Key; readonly kind: 'bytes'; readonly contentType: string; readonly body: Uint8Array }
  | { readonly key: Key; readonly kind: 'delete' }
  | { readonly key: Key; readonly kind: 'add'; readonly add: unknown }

/** The levels of `{ writes: [ { value: ... } ] }` that surround the client's values. */
const ENVELOPE_DEPTH = 3
const BOUNDS = ['from', 'to', 'after', 'prefix', 'through'] as const
const LEASE_ID_LENGTH_MAX = 100
/** No result depends on more tags than this. */
const TAGS_MAX = 100
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

export function readCommit(body: Uint8Array, settings: ServerSettings): ReadCommit {
  const text = readJsonObject(body, settings, ENVELOPE_DEPTH)
  const root = parseJsonTree(text, ENVELOPE_DEPTH)
  checkMembers(root, ['reads', 'lists', 'writes', 'lease', 'leaseId'])
  const reads = listOf(root, 'reads', 'commitReadsMax', settings).map((node, i) => readRead(node, `reads[${i}]`))
  const lists = listOf(root, 'lists', 'commitReadsMax', settings).map((node, i) => readList(node, `lists[${i}]`))
  const writes = listOf(root, 'writes', 'commitWritesMax', settings).map((node, i) => {
    return readWrite(node, `writes[${i}]`, settings.bodyBytesMax)
  })
  checkDistinct('reads', reads)
  checkDistinct('writes', writes)
  checkPatches(writes, reads)
  const lease = readLease(root, reads, settings)
  const isEmpty = reads.length + lists.length + writes.length === 0
  if (isEmpty && lease?.id === undefined) throw invalid('it is empty')
  return { reads, lists, writes, ...(lease === undefined ? {} : { lease }) }
}

/** A patch applies to one version. Without it, the result could not be predicted. */
function checkPatches(writes: readonly RequestedWrite[], reads: readonly ReadVersion[]): void {
  const known = new Set(reads.filter(({ version }) => version > 0).map(({ key }) => key))
  const loose = writes.findIndex(({ kind, key }) => kind === 'patch' && !known.has(key))
  if (loose !== -1) throw invalid(`writes[${loose}] is a patch: its path must be among the reads, with a version`)
}

function readLease(root: JsonNode, reads: readonly ReadVersion[], settings: ServerSettings): LeaseAsk | undefined {
  const asked = memberOf(root, 'lease')
  const id = memberOf(root, 'leaseId')
  const isTime = Number.isSafeInteger(asked) && (asked as number) > 0
  if (asked !== undefined && asked !== true && !isTime) throw invalid('lease must be true, or a number of milliseconds')
  if (id !== undefined && (typeof id !== 'string' || id === '' || id.length > LEASE_ID_LENGTH_MAX)) {
    throw invalid('leaseId must be the id of a lease, from the answer to a refused commit')
  }
  const ms = asked === undefined ? 0 : Math.min(isTime ? (asked as number) : Infinity, settings.leaseMsMax)
  if (ms === 0 && id === undefined) return undefined
  return { keys: reads.map(({ key }) => key), ...(ms > 0 ? { ms } : {}), ...(id === undefined ? {} : { id }) }
}

function listOf(
  root: JsonNode,
  name: string,
  limit: 'commitReadsMax' | 'commitWritesMax',
  { [limit]: countMax }: ServerSettings,
): readonly JsonNode[] {
  const node = root.members?.get(name)
  if (node === undefined && name !== 'writes') return []
  if (node?.elements === undefined) throw invalid(`${name} must be a list`)
  const { length } = node.elements
  if (length <= countMax) return node.elements
  throw overLimit({
    code: 'LIMIT_EXCEEDED',
    limit,
    what: `The commit has ${length} ${name}, more than the ${countMax} that this server accepts.`,
    instead: 'Divide it into several commits, if they need not happen together',
    details: { [name]: countMax },
  })
}

function readRead(node: JsonNode, where: string): ReadVersion {
  checkMembers(node, ['path', 'version'], where)
  return { key: keyOf(node, where), version: versionOf(node, where) }
}

function readList(node: JsonNode, where: string): ReadList {
  checkMembers(node, ['path', 'version', 'tags', ...BOUNDS], where)
  const bounds = BOUNDS.flatMap(name => {
    const bound = memberOf(node, name)
    if (bound === undefined) return []
    if (typeof bound !== 'string') throw invalid(`${where}.${name} must be text, as in the query of a list`)
    return [[name, bound]]
  })
  const bucket = keyOfPath(pathOf(node, where))
  if (idOfKey(bucket) !== undefined) throw invalid(`${where}.path names an object, not a bucket`)
  const tags = tagsOf(node, bucket, where)
  if (tags !== undefined && bounds.length > 0) throw invalid(`${where} has both tags and a range of ids`)
  return { bucket, version: versionOf(node, where), ...Object.fromEntries(bounds), ...(tags ? { tags } : {}) }
}

function tagsOf(node: JsonNode, bucket: Key, where: string): readonly Tag[] | undefined {
  const tags = memberOf(node, 'tags')
  if (tags === undefined) return undefined
  const isList = Array.isArray(tags) && tags.length > 0 && tags.length <= TAGS_MAX
  if (isList && tags.every(tag => typeof tag === 'string' && partsOfTag(tag)?.bucket === bucket)) return tags as Tag[]
  throw invalid(`${where}.tags must be a list of tags of that bucket, from dependsOn of a query's result`)
}

function versionOf(node: JsonNode, where: string): Version {
  const version = memberOf(node, 'version')
  if (Number.isSafeInteger(version) && (version as number) >= 0) return version as number
  throw invalid(`${where}.version must be a version`)
}

function readWrite(node: JsonNode, where: string, bytesMax: number): RequestedWrite {
  const key = keyOf(node, where)
  const value = node.members?.get('value')
  if (value !== undefined) {
    checkMembers(node, ['path', 'value'], where)
    return { key, kind: 'json', body: withinLimit(where, Buffer.from(value.text), bytesMax) }
  }
  const patch = node.members?.get('patch')
  if (patch !== undefined) {
    checkMembers(node, ['path', 'patch'], where)
    if (!patch.text.startsWith('{')) throw invalid(`${where}.patch must be a JSON merge patch: {...}`)
    return { key, kind: 'patch', patch: patch.text }
  }
  if (node.members?.has('delete')) {
    checkMembers(node, ['path', 'delete'], where)
    if (memberOf(node, 'delete') !== true) throw invalid(`${where}.delete must be true`)
    return { key, kind: 'delete' }
  }
  if (node.members?.has('add')) {
    checkMembers(node, ['path', 'add'], where)
    checkExact(node.text)
    return { key, kind: 'add', add: memberOf(node, 'add') }
  }
  checkMembers(node, ['path', 'contentType', 'base64'], where)
  const contentType = memberOf(node, 'contentType')
  const base64 = memberOf(node, 'base64')
  if (typeof contentType !== 'string')
    throw invalid(`${where} needs a value, or a patch, or contentType and base64, or delete, or add`)
  if (typeof base64 !== 'string' || !BASE64.test(base64)) throw invalid(`${where}.base64 must be base64`)
  return { key, kind: 'bytes', contentType, body: withinLimit(where, Buffer.from(base64, 'base64'), bytesMax) }
}

function withinLimit(where: string, body: Uint8Array, bytesMax: number): Uint8Array {
  checkObjectSize(`The value of ${where}`, body, bytesMax)
  return body
}

function keyOf(node: JsonNode, where: string): Key {
  const key = keyOfPath(pathOf(node, where))
  if (idOfKey(key) === undefined) throw invalid(`${where}.path names a bucket, not an object`)
  return key
}

function pathOf(node: JsonNode, where: string): Path {
  const path = memberOf(node, 'path')
  if (typeof path === 'string') return path
  throw invalid(`${where}.path must be the path of an object, or of a bucket in lists`)
}

function memberOf(node: JsonNode, name: string): unknown {
  const text = node.members?.get(name)?.text
  return text === undefined ? undefined : JSON.parse(text)
}

function checkMembers(node: JsonNode, known: readonly string[], where = 'it'): void {
  if (node.members === undefined) throw invalid(`${where} must be an object`)
  const unknown = [...node.members.keys()].find(name => !known.includes(name))
  if (unknown !== undefined) {
    throw invalid(`${where} has ${JSON.stringify(unknown.slice(0, 40))}, but only ${known.join(', ')} are allowed`)
  }
}

function checkDistinct(name: string, items: readonly { readonly key: Key }[]): void {
  if (new Set(items.map(item => item.key)).size !== items.length) throw invalid(`${name} has the same path twice`)
}

function invalid(reason: string): FreshetError {
  return new FreshetError('BODY_INVALID', `This cannot be committed: ${reason}. /openapi.json describes a commit.`)
}
