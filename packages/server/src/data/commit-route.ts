/** `POST /commit`: several writes and the versions they rely on, all or nothing. */
import { formatUnits } from '@freshet/core/counters'
import type { Addition, ReadVersion, Store, StoredValue, Write } from '@freshet/core/store'
import {
  bucketOfKey,
  type CommitLease,
  FreshetError,
  formatEtag,
  type Key,
  type Position,
  pathOfKey,
} from '@freshet/protocol'
import type { Access } from '../access/access.js'
import type { Caller } from '../access/caller.js'
import { namespaceOf } from '../access/quotas/usage-record.js'
import type { LogFollower } from '../coherence/log-follower.js'
import type { RecentConflicts } from '../console/recent-conflicts.js'
import { additionOf, counterWrite, noCounter } from '../counters/counter-values.js'
import { type Answer, JSON_TYPE, jsonTextAnswer } from '../http/answer.js'
import type { Call, Route } from '../http/call.js'
import { readBody } from '../http/request-body.js'
import { type Idempotency, LastingRefusal, REPLAYED } from '../idempotency/idempotency.js'
import { type AskedOperation, readOperation } from '../idempotency/read-operation.js'
import type { ServerSettings } from '../settings.js'
import type { Bucket, BucketDirectory } from './bucket-directory.js'
import { type ReadCommit, type RequestedWrite, readCommit } from './commit-request.js'
import { isJson, notJson, readContentType } from './content-types.js'
import { leaseOf } from './lease-answer.js'
import { ATTEMPTS_MAX, type ObjectWriter, rightTo, SETTINGS_BY_DEFAULT } from './object-writer.js'
import { matchRequired, tooMuchContention } from './refusals.js'

export interface CommitRouteOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly follower: LogFollower
  readonly buckets: BucketDirectory
  readonly writer: ObjectWriter
  readonly idempotency: Idempotency
  readonly conflicts: RecentConflicts
  readonly access: Access
}

export class CommitRoute {
  readonly #options: CommitRouteOptions

  constructor(options: CommitRouteOptions) {
    this.#options = options
  }

  route(): Route {
    return {
      pattern: '/commit',
      operations: { POST: { access: 'rules', handle: call => this.#post(call), takesBody: true } },
    }
  }

  async #post({ exchange }: Call): Promise<Answer> {
    const { settings } = this.#options
    checkType(exchange.request.headers['content-type'])
    const body = await readBody(exchange, settings.commitBodyBytesMax)
    const commit = readCommit(body, settings)
    const { caller } = exchange
    if (caller)
      await this.#options.access.takeRequest(
        caller,
        commit.writes.map(({ key }) => namespaceOf(key)),
      )
    const operation =
      commit.writes.length === 0 ? undefined : readOperation(exchange.request, body, exchange.caller?.subject)
    const outcome = await this.#options.idempotency.once(
      operation,
      () => this.#commit(commit, operation, exchange.caller),
      ({ position, units, note }) => ({ position, units, note, decimals: [] }),
    )
    return committed(outcome)
  }

  async #commit(
    commit: ReadCommit,
    operation: AskedOperation | undefined,
    caller: Caller | undefined,
  ): Promise<Committed> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const outcome = await this.#attempt(commit, operation, caller)
      if (outcome !== undefined) return outcome
    }
    throw tooMuchContention()
  }

  /** Undefined if a bucket has changed meanwhile: that is no conflict of the client's, only a reason to look again. */
  async #attempt(
    commit: ReadCommit,
    operation: AskedOperation | undefined,
    caller: Caller | undefined,
  ): Promise<Committed | undefined> {
    const { store, follower, buckets, writer } = this.#options
    const { reads, lists, writes, lease } = commit
    await follower.catchUp()
    caller?.decideAnew()
    const judged = caller === undefined ? [] : await this.#judge(commit, caller)
    const touched = new Map(writes.map(({ key }) => [bucketOfKey(key), buckets.get(bucketOfKey(key))]))
    const known = new Set(reads.map(read => read.key))
    const additions = writes.filter(write => write.kind === 'add')
    const adds = additions.map(write => toAddition(write, touched))
    const changes = {
      writes: writes.filter(write => write.kind !== 'add').map(write => toWrite(write, touched, known)),
      adds,
    }
    const decimals = adds.map(add => add.decimals)
    const conditions = {
      ...{ reads: [...reads, ...judged], lists },
      ...(lease === undefined ? {} : { lease }),
      ...(operation === undefined ? {} : { operation: { ...operation, note: decimals.join() } }),
    }
    const result = await writer.tryCommit(changes, conditions, withoutNeedless(touched, writes), caller)
    if (result.committed) {
      return { position: result.position, units: result.units ?? [], decimals, note: result.replayed?.note }
    }
    const conflicts = [...result.conflicts.filter(({ key }) => known.has(key)), ...(result.changedLists ?? [])]
    if (conflicts.length === 0) return undefined
    this.#remember(commit, conflicts, result.lease !== undefined)
    // A version that is gone does not come back, nor does a list that has changed; what is there may be deleted.
    const wanted = new Set(reads.filter(({ version }) => version > 0).map(({ key }) => key))
    const isLasting = result.changedLists !== undefined || result.conflicts.some(({ key }) => wanted.has(key))
    throw conflict(conflicts, result.lease && (await leaseOf(result.lease, reads, store)), isLasting)
  }

  #remember({ reads, writes }: ReadCommit, changed: readonly ReadVersion[], isLeased: boolean): void {
    const expected = new Map(reads.map(({ key, version }) => [key, version]))
    this.#options.conflicts.add({
      ...{ kind: 'commit', isLeased, writes: writes.map(({ key }) => key) },
      changed: changed.map(({ key, version }) => {
        const read = expected.get(key)
        return { key, version, ...(read === undefined ? {} : { expected: read }) }
      }),
    })
  }

  /**
   * Throws unless all of it is allowed; before anything else, since every other refusal tells something of what is there. Answers what
   * that was judged by: it must still be so when it is committed.
   */
  async #judge({ reads, lists, writes, lease }: ReadCommit, caller: Caller): Promise<readonly ReadVersion[]> {
    for (const { bucket } of lists) caller.check('list', bucket)
    // Who writes nothing has no turn to wait for.
    if (lease !== undefined && writes.length === 0) throw caller.refusal()
    const keys = [...new Set([...reads, ...writes].map(({ key }) => key))]
    const { value } = await this.#options.store.getMany(keys)
    const found = new Map(keys.map((key, i) => [key, value[i]]))
    for (const { key } of reads) caller.check('read', key, found.get(key))
    for (const write of writes) {
      const current = found.get(write.key)
      const right = write.kind === 'add' ? 'update' : write.kind === 'delete' ? 'delete' : rightTo(write, current)
      caller.check(right, write.key, current, nextOf(write))
    }
    const known = new Set(reads.map(({ key }) => key))
    return writes
      .filter(({ key, kind }) => kind !== 'add' && !known.has(key))
      .map(({ key }) => ({ key, version: found.get(key)?.version ?? 0 }))
  }
}

interface Committed {
  readonly position: Position
  /** Of the counters, in the order of the additions. */
  readonly units: readonly number[]
  readonly decimals: readonly number[]
  /** Of the first time: the decimals. */
  readonly note: string | undefined
}

function nextOf(write: RequestedWrite): Pick<StoredValue, 'contentType' | 'body'> | undefined {
  if (write.kind === 'json') return { contentType: JSON_TYPE, body: write.body }
  return write.kind === 'bytes' ? write : undefined
}

function toAddition(
  { key, add }: RequestedWrite & { readonly kind: 'add' },
  touched: ReadonlyMap<Key, Bucket | undefined>,
): Addition {
  const settings = touched.get(bucketOfKey(key))?.settings ?? SETTINGS_BY_DEFAULT
  if (settings.kind !== 'counter') throw noCounter(key)
  return additionOf(key, add, settings)
}

function toWrite(
  write: Exclude<RequestedWrite, { readonly kind: 'add' }>,
  touched: ReadonlyMap<Key, Bucket | undefined>,
  known: ReadonlySet<Key>,
): Write {
  const { key } = write
  const bucketKey = bucketOfKey(key)
  const bucket = touched.get(bucketKey)
  const settings = bucket?.settings ?? SETTINGS_BY_DEFAULT
  const { kind, requireMatch } = settings
  if (requireMatch && !known.has(key)) throw matchRequired(key)
  if (write.kind === 'delete') return { key, delete: true }
  if (write.kind === 'json') {
    if (kind === 'object' && write.body[0] !== 0x7b) throw notAnObject(key)
    if (kind === 'counter') return counterWrite(key, write.body, settings)
    return { key, contentType: JSON_TYPE, body: write.body }
  }
  if (kind !== 'kv') throw notJson(bucketKey, write.contentType, bucket === undefined)
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

function committed({ position, units, decimals, note }: Committed): Answer {
  const each = note === undefined ? decimals : note === '' ? [] : note.split(',').map(Number)
  // As text: a counter may have more digits than JSON.stringify would print of it.
  // And without those of quotas, which come after.
  const values = each.map((decimals, i) => formatUnits(units[i] ?? 0, decimals))
  const more = values.length === 0 ? '' : `,"values":[${values.join()}]`
  return jsonTextAnswer(`{"position":${position}${more}}`, [
    ...['ETag', formatEtag(position), 'Freshet-Position', `${position}`],
    ...(note === undefined ? [] : REPLAYED),
  ])
}

function notAnObject(key: Key): FreshetError {
  return new FreshetError(
    'BODY_INVALID',
    `${pathOfKey(key)} is in a bucket of JSON objects, so its value must be one: {...}.`,
  )
}

function conflict(conflicts: readonly ReadVersion[], lease: CommitLease | undefined, isLasting: boolean): FreshetError {
  const list = conflicts.map(({ key, version }) => ({ path: pathOfKey(key), version }))
  const some = list.slice(0, 3).map(({ path, version }) => `${path} (now ${version})`)
  const Refusal = isLasting ? LastingRefusal : FreshetError
  return new Refusal(
    'COMMIT_CONFLICT',
    `Nothing was committed: ${list.length} of the versions read no longer hold: ${some.join(', ')}. Read them again and retry.`,
    { details: { conflicts: list, ...(lease === undefined ? {} : { lease }) } },
  )
}
