/** `POST /commit`: several writes, and the versions that they depend on, all or nothing. */
import { formatUnits } from '@freshet/core/counters'
import type { Addition, CommitResult, ReadList, ReadVersion, Store, StoredValue, Write } from '@freshet/core/store'
import {
  bucketOfKey,
  type CommitLease,
  FreshetError,
  formatEtag,
  idOfKey,
  type Key,
  type Position,
  pathOfKey,
} from '@freshet/protocol'
import type { Access } from '../../access/access.js'
import type { Caller } from '../../access/caller.js'
import { RIGHTS, type Right, WRITES } from '../../access/rules/rights.js'
import type { Bucket, BucketDirectory } from '../../buckets/bucket-directory.js'
import { migrated } from '../../buckets/migrated.js'
import { matchRequired, tooMuchContention } from '../../buckets/refusals.js'
import type { LogFollower } from '../../coherence/log-follower.js'
import { type Answer, JSON_TYPE, jsonTextAnswer } from '../../http/answer.js'
import { isJson, notJson, readContentType } from '../../http/content-types.js'
import { checkObjectSize, readBody, type SizeSetting } from '../../http/request-body.js'
import type { AnswerNote } from '../../idempotency/answer-note.js'
import {
  type Idempotency,
  LastingRefusal,
  type Outcome,
  operationWith,
  outcomeOf,
  REPLAYED,
} from '../../idempotency/idempotency.js'
import { type AskedOperation, readOperation } from '../../idempotency/read-operation.js'
import { readJsonObject } from '../../json/json-text.js'
import { mergePatch } from '../../json/merge-patch.js'
import type { RecentConflicts } from '../../monitoring/recent-conflicts.js'
import type { Call, Route } from '../../routing/call.js'
import type { ServerSettings } from '../../settings/server-settings.js'
import { claimantOf } from '../../writing/claimant-of.js'
import { ATTEMPTS_MAX, type Committer, rightTo, SETTINGS_BY_DEFAULT } from '../../writing/committer.js'
import { additionOf, counterWrite, noCounter } from '../../writing/counter-values.js'
import { type ReadCommit, type RequestedWrite, readCommit } from './commit-request.js'
import { leaseOf } from './lease-answer.js'

export interface CommitRouteOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly follower: LogFollower
  readonly buckets: BucketDirectory
  readonly committer: Committer
  readonly idempotency: Idempotency
  readonly access: Access
  readonly conflicts: RecentConflicts
}

export class CommitRoute {
  readonly #options: CommitRouteOptions

  constructor(options: CommitRouteOptions) {
    this.#options = options
  }

  route(): Route {
    return {
      pattern: '/commit',
      methods: { POST: { access: 'rules', rights: RIGHTS, handle: call => this.#post(call), takesBody: true } },
    }
  }

  async #post({ exchange, caller }: Call): Promise<Answer> {
    const { settings } = this.#options
    checkType(exchange.request.headers['content-type'])
    const setting = sizeSettingFor(caller, settings)
    const body = await readBody(exchange, settings[setting], setting)
    const commit = readCommit(body, settings)
    const written = commit.writes.map(({ key }) => key)
    const claimant = claimantOf(caller, written, each => mightCommit(each, commit))
    const refusal = claimant.refusal()
    if (refusal !== undefined) throw refusal
    if (caller) await this.#options.access.takeRequest(caller, claimant.namespaces())
    const operation = commit.writes.length === 0 ? undefined : readOperation(exchange.request, body, caller)
    const act = () => this.#commit(commit, operation, caller)
    return committed(await this.#options.idempotency.once(operation, claimant, act))
  }

  async #commit(
    commit: ReadCommit,
    operation: AskedOperation | undefined,
    caller: Caller | undefined,
  ): Promise<Outcome> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const outcome = await this.#attempt(commit, operation, caller)
      if (outcome !== undefined) return outcome
    }
    throw tooMuchContention()
  }

  /** Undefined if a bucket has changed in between. That is not the client's conflict, only a reason to retry. */
  async #attempt(
    asked: ReadCommit,
    operation: AskedOperation | undefined,
    caller: Caller | undefined,
  ): Promise<Outcome | undefined> {
    const { follower, buckets, committer } = this.#options
    await follower.catchUp()
    const commit = await this.#patched(asked)
    const { lists, writes, lease } = commit
    caller?.decideAnew()
    const { reads, judged } = caller === undefined ? { ...commit, judged: [] } : await this.#judge(commit, caller)
    checkReached(lists, follower.position)
    const touched = new Map(writes.map(({ key }) => [bucketOfKey(key), buckets.get(bucketOfKey(key))]))
    const known = new Set(reads.map(read => read.key))
    if (commit.outdated.some(key => known.has(key))) {
      throw await this.#conflict({ ...commit, reads }, {}, await this.#changedOf(reads), caller)
    }
    if (commit.refusal !== undefined) throw commit.refusal.error
    const additions = writes.filter(write => write.kind === 'add')
    const adds = additions.map(write => toAddition(write, touched))
    const changes = {
      writes: writes.filter(write => write.kind !== 'add').map(write => toWrite(write, touched, known)),
      adds,
    }
    const note: AnswerNote = { kind: 'counters', decimals: adds.map(add => add.decimals) }
    const conditions = {
      ...{ reads: [...reads, ...judged], lists },
      ...(lease === undefined ? {} : { lease }),
      ...(operation === undefined ? {} : { operation: operationWith(operation, note) }),
    }
    const result = await committer.commit(changes, conditions, withoutNeedless(touched, writes), caller)
    if (result.committed) return outcomeOf(result, note)
    const conflicts = [...result.conflicts.filter(({ key }) => known.has(key)), ...(result.changedLists ?? [])]
    if (conflicts.length === 0) return undefined
    throw await this.#conflict({ ...commit, reads }, result, conflicts, caller)
  }

  /** Turns patches into whole objects. If an object is not the version that the client read, the commit will not be made. */
  async #patched(commit: ReadCommit): Promise<PatchedCommit> {
    const { store } = this.#options
    const keys = commit.writes.filter(({ kind }) => kind === 'patch').map(({ key }) => key)
    const { value } = keys.length === 0 ? { value: [] } : await store.getMany(keys)
    const found = new Map(keys.map((key, i) => [key, value[i]]))
    const versions = new Map(commit.reads.map(({ key, version }) => [key, version]))
    const outdated: Key[] = []
    let refusal: PatchedCommit['refusal']
    const writes = commit.writes.map((write): PlainWrite => {
      if (write.kind !== 'patch') return write
      const { key, patch } = write
      const current = found.get(key)
      const isRead = current !== undefined && current.version === versions.get(key)
      if (!isRead) outdated.push(key)
      if (!isRead || current.contentType !== JSON_TYPE) return { key, kind: 'json', body: Buffer.from(patch) }
      try {
        return { key, kind: 'json', body: this.#patchedBody(key, current, patch) }
      } catch (error) {
        refusal ??= { error }
        return { key, kind: 'json', body: Buffer.from(patch) }
      }
    })
    return { ...commit, writes, outdated, refusal }
  }

  /** Throws MIGRATION_UNFINISHED, BODY_TOO_LARGE, BODY_INVALID. */
  #patchedBody(key: Key, current: StoredValue, patch: string): Buffer {
    const { buckets, settings } = this.#options
    const before = migrated(key, buckets.get(bucketOfKey(key)), current)
    const body = Buffer.from(mergePatch(new TextDecoder().decode(before.body), patch))
    checkObjectSize(`The patched object ${pathOfKey(key)}`, body, settings.bodyBytesMax)
    readJsonObject(body, settings)
    return body
  }

  /** Those of these objects that have another version now, with that version. */
  async #changedOf(reads: readonly ReadVersion[]): Promise<readonly ReadVersion[]> {
    const { value } = await this.#options.store.getMany(reads.map(({ key }) => key))
    return reads
      .map(({ key, version }, i) => ({
        key,
        version: value[i]?.version ?? 0,
        isSame: (value[i]?.version ?? 0) === version,
      }))
      .filter(({ isSame }) => !isSame)
      .map(({ key, version }) => ({ key, version }))
  }

  async #conflict(
    commit: ReadCommit,
    { changedLists, lease }: Pick<Refused, 'changedLists' | 'lease'>,
    conflicts: readonly ReadVersion[],
    caller: Caller | undefined,
  ): Promise<FreshetError> {
    const { store, follower } = this.#options
    const { reads } = commit
    this.#remember(commit, conflicts, lease !== undefined)
    // An object that the caller read may be hidden by now: then this caller must not learn its version.
    await follower.catchUp()
    caller?.decideAnew()
    if (caller !== undefined) await this.#judge(commit, caller)
    // An overwritten version never returns, and neither does a list that has changed. But if the read expected the object to be
    // absent, it may be deleted again.
    const wanted = new Set(reads.filter(({ version }) => version > 0).map(({ key }) => key))
    const isLasting = changedLists !== undefined || conflicts.some(({ key }) => wanted.has(key))
    const seen = (key: Key, found: StoredValue | undefined) => (caller ? caller.seen(key, found) : (found ?? 'absent'))
    const shown = conflicts.map(read =>
      isHiddenVersion(read, caller) ? { ...read, version: follower.position } : read,
    )
    return conflict(shown, lease && (await leaseOf(lease, reads, store, seen)), isLasting)
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
   * Throws unless all of it is allowed. Called before any other check, since every other refusal reveals something about what
   * is stored. Returns what the commit depends on: `reads`, those reads of the request that can cause a conflict for the
   * client, and `judged`, the versions that this decision depends on, which must still be the same when it is committed.
   * `judged` includes objects that are absent only for this caller.
   */
  async #judge({ reads, lists, writes, lease }: ReadCommit, caller: Caller): Promise<Judged> {
    for (const { bucket } of lists) caller.check('list', bucket)
    for (const list of lists) if (!caller.seesWhole(list)) throw notWhole(list)
    // A caller who writes nothing has no turn to wait for.
    if (lease !== undefined && writes.length === 0) throw caller.refusal()
    const keys = [...new Set([...reads, ...writes].map(({ key }) => key))]
    const { value } = await this.#options.store.getMany(keys)
    const found = new Map(keys.map((key, i) => [key, value[i]]))
    const hidden = new Set<Key>()
    for (const { key, version } of reads) {
      const seen = caller.seen(key, found.get(key))
      if (seen === undefined) throw caller.refusal()
      if (seen !== 'absent' || found.get(key) === undefined) continue
      if (version !== 0) throw conflict([{ key, version: 0 }], undefined, false)
      hidden.add(key)
    }
    for (const write of writes) {
      const current = found.get(write.key)
      const right =
        write.kind === 'add' ? 'update' : write.kind === 'delete' ? 'delete' : rightTo(write, current !== undefined)
      caller.check(right, write.key, current, nextOf(write))
    }
    const own = reads.filter(({ key }) => !hidden.has(key))
    const known = new Set(own.map(({ key }) => key))
    const written = writes.filter(({ key, kind }) => kind !== 'add' && !known.has(key)).map(({ key }) => key)
    const relied = [...new Set([...hidden, ...written])]
    return { reads: own, judged: relied.map(key => ({ key, version: found.get(key)?.version ?? 0 })) }
  }
}

interface Judged {
  readonly reads: readonly ReadVersion[]
  readonly judged: readonly ReadVersion[]
}

type Refused = Extract<CommitResult, { readonly committed: false }>

type PlainWrite = Exclude<RequestedWrite, { readonly kind: 'patch' }>

interface PatchedCommit extends ReadCommit {
  readonly writes: readonly PlainWrite[]
  /** Objects whose patches do not apply to the version that was read. */
  readonly outdated: readonly Key[]
  /**
   * Why a patch cannot be applied. It is thrown after the caller was judged, so only callers who may know of the object see it.
   */
  readonly refusal: { readonly error: unknown } | undefined
}

/** A commit of only reads, by a caller who may not write, can be no longer than an object. */
function sizeSettingFor(caller: Caller | undefined, { bodyBytesMax, commitBodyBytesMax }: ServerSettings): SizeSetting {
  const mayWrite = caller === undefined || caller.mightSomewhere(WRITES)
  return mayWrite || commitBodyBytesMax < bodyBytesMax ? 'commitBodyBytesMax' : 'bodyBytesMax'
}

function mightCommit(caller: Caller, { reads, lists, writes }: ReadCommit): boolean {
  return (
    lists.every(({ bucket }) => caller.might('list', bucket)) &&
    reads.every(({ key }) => caller.might('read', key)) &&
    writes.every(({ key, kind }) => RIGHTS_TO[kind].some(right => caller.might(right, key)))
  )
}

/** Each kind of write requires one of these rights. */
const RIGHTS_TO: Readonly<Record<RequestedWrite['kind'], readonly Right[]>> = {
  ...{ add: ['update'], delete: ['delete'] },
  ...{ json: ['create', 'update'], bytes: ['create', 'update'], patch: ['update'] },
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
  write: Exclude<PlainWrite, { readonly kind: 'add' }>,
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

/** An absent bucket is created by a write into it, but not by a deletion from it. */
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
    'A commit must be JSON. Send the header "Content-Type: application/json".',
    {
      details: { accept: [JSON_TYPE] },
    },
  )
}

function committed({ position, units, note, isReplayed }: Outcome): Answer {
  const each = note.kind === 'counters' ? note.decimals : []
  // As text, since a counter may have more digits than JSON.stringify would print. `units` also has the quotas' counters, at
  // its end.
  const values = each.map((decimals, i) => formatUnits(units[i] ?? 0, decimals))
  const more = values.length === 0 ? '' : `,"values":[${values.join()}]`
  return jsonTextAnswer(`{"position":${position}${more}}`, [
    ...['ETag', formatEtag(position), 'Freshet-Position', `${position}`],
    ...(isReplayed ? REPLAYED : []),
  ])
}

/** The version of a bucket reveals changes of all its objects. */
function isHiddenVersion({ key }: ReadVersion, caller: Caller | undefined): boolean {
  return idOfKey(key) === undefined && caller !== undefined && !caller.seesAllOf(key)
}

function notWhole({ bucket, tags }: ReadList): FreshetError {
  const what = tags === undefined ? 'a range' : 'the result of a query'
  return new FreshetError(
    'FORBIDDEN',
    `A commit may depend on ${what} of ${bucket} only if its caller may read every object that could be in it, and this ` +
      'caller sees only some. Filter the query by the indexed field that the rules compare, or name the objects by their ids, ' +
      'in reads.',
  )
}

function notAnObject(key: Key): FreshetError {
  return new FreshetError(
    'BODY_INVALID',
    `${pathOfKey(key)} is in a bucket of JSON objects, so its value must be an object: {...}.`,
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

/** A version that the log has not reached would miss every change until then. */
function checkReached(lists: readonly ReadList[], position: Position): void {
  const ahead = lists.find(({ version }) => version > position)
  if (ahead === undefined) return
  throw new FreshetError(
    'BODY_INVALID',
    `This cannot be committed: lists has ${pathOfKey(ahead.bucket)} at version ${ahead.version}, which the log has not ` +
      'reached. Send the version that came with the list.',
  )
}
