/** `POST /commit`: several writes and the versions they rely on, all or nothing. */
import type { ReadVersion, Store, Write } from '@freshet/core/store'
import {
  bucketOfKey,
  type CommitAnswer,
  type CommitLease,
  FreshetError,
  formatEtag,
  type Key,
  type Position,
  pathOfKey,
} from '@freshet/protocol'
import type { LogFollower } from '../coherence/log-follower.js'
import { type Answer, JSON_TYPE, jsonAnswer } from '../http/answer.js'
import type { Call, Route } from '../http/call.js'
import { readBody } from '../http/request-body.js'
import type { ServerSettings } from '../settings.js'
import type { Bucket, BucketDirectory } from './bucket-directory.js'
import { type ReadCommit, type RequestedWrite, readCommit } from './commit-request.js'
import { isJson, notJson, readContentType } from './content-types.js'
import { leaseOf } from './lease-answer.js'
import { ATTEMPTS_MAX, type ObjectWriter, SETTINGS_BY_DEFAULT } from './object-writer.js'
import { matchRequired, tooMuchContention } from './refusals.js'

export interface CommitRouteOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly follower: LogFollower
  readonly buckets: BucketDirectory
  readonly writer: ObjectWriter
}

export class CommitRoute {
  readonly #options: CommitRouteOptions

  constructor(options: CommitRouteOptions) {
    this.#options = options
  }

  route(): Route {
    return { pattern: '/commit', operations: { POST: { handle: call => this.#post(call), takesBody: true } } }
  }

  async #post({ exchange }: Call): Promise<Answer> {
    const { settings } = this.#options
    checkType(exchange.request.headers['content-type'])
    const commit = readCommit(await readBody(exchange, settings.commitBodyBytesMax), settings)
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const position = await this.#attempt(commit)
      if (position !== undefined) return committed(position)
    }
    throw tooMuchContention()
  }

  /** Undefined if a bucket has changed meanwhile: that is no conflict of the client's, only a reason to look again. */
  async #attempt({ reads, lists, writes, lease }: ReadCommit): Promise<Position | undefined> {
    const { store, follower, buckets, writer } = this.#options
    await follower.catchUp()
    const touched = new Map(writes.map(({ key }) => [bucketOfKey(key), buckets.get(bucketOfKey(key))]))
    const known = new Set(reads.map(read => read.key))
    const stored = writes.map(write => toWrite(write, touched, known))
    const created = withoutNeedless(touched, writes)
    const result = await writer.tryCommit(stored, { reads, lists, ...(lease === undefined ? {} : { lease }) }, created)
    if (result.committed) return result.position
    const conflicts = [...result.conflicts.filter(({ key }) => known.has(key)), ...(result.changedLists ?? [])]
    if (conflicts.length > 0) throw conflict(conflicts, result.lease && (await leaseOf(result.lease, reads, store)))
    return undefined
  }
}

function toWrite(write: RequestedWrite, touched: ReadonlyMap<Key, Bucket | undefined>, known: ReadonlySet<Key>): Write {
  const { key } = write
  const bucketKey = bucketOfKey(key)
  const bucket = touched.get(bucketKey)
  const { kind, requireMatch } = bucket?.settings ?? SETTINGS_BY_DEFAULT
  if (requireMatch && !known.has(key)) throw matchRequired(key)
  if (write.kind === 'delete') return { key, delete: true }
  if (write.kind === 'json') {
    if (kind === 'object' && write.body[0] !== 0x7b) throw notAnObject(key)
    return { key, contentType: JSON_TYPE, body: write.body }
  }
  if (kind === 'object') throw notJson(bucketKey, write.contentType, bucket === undefined)
  return { key, contentType: readContentType(write.contentType), body: write.body }
}

/** A bucket that is not there is created by what is put into it, not by what is deleted from it. */
function withoutNeedless(
  touched: ReadonlyMap<Key, Bucket | undefined>,
  writes: readonly RequestedWrite[],
): ReadonlyMap<Key, Bucket | undefined> {
  const put = new Set(writes.filter(write => write.kind !== 'delete').map(({ key }) => bucketOfKey(key)))
  return new Map([...touched].filter(([key, bucket]) => bucket !== undefined || put.has(key)))
}

function checkType(contentType: string | undefined): void {
  if (contentType === undefined || isJson(contentType)) return
  throw new FreshetError(
    'CONTENT_TYPE_UNSUPPORTED',
    'A commit is JSON. Send the header "Content-Type: application/json".',
    {
      details: { accept: [JSON_TYPE] },
    },
  )
}

function committed(position: Position): Answer {
  const answer: CommitAnswer = { position }
  return jsonAnswer(200, answer, ['ETag', formatEtag(position), 'Freshet-Position', `${position}`])
}

function notAnObject(key: Key): FreshetError {
  return new FreshetError(
    'BODY_INVALID',
    `${pathOfKey(key)} is in a bucket of JSON objects, so its value must be one: {...}.`,
  )
}

function conflict(conflicts: readonly ReadVersion[], lease: CommitLease | undefined): FreshetError {
  const list = conflicts.map(({ key, version }) => ({ path: pathOfKey(key), version }))
  const some = list.slice(0, 3).map(({ path, version }) => `${path} (now ${version})`)
  return new FreshetError(
    'COMMIT_CONFLICT',
    `Nothing was committed: ${list.length} of the versions read no longer hold: ${some.join(', ')}. Read them again and retry.`,
    { details: { conflicts: list, ...(lease === undefined ? {} : { lease }) } },
  )
}
