/** `/db`, `/db/{namespace}`, `/db/{namespace}/{bucket}`: which buckets there are, lists, and the settings of buckets. */
import type { Store, Write } from '@freshet/core/store'
import {
  type BucketAnswer,
  type BucketChange,
  type BucketList,
  type BucketSettings,
  type BucketSettingsAnswer,
  checkName,
  FreshetError,
  formatEtag,
  type Key,
  type NamespaceList,
  type SchemaList,
  type Version,
} from '@freshet/protocol'
import { type Audited, auditWrite } from '../../access/audit.js'
import type { Caller } from '../../access/caller.js'
import type { Bucket, BucketDirectory } from '../../buckets/bucket-directory.js'
import {
  type BucketRecord,
  changeRecord,
  mergeSettings,
  readBucketSettings,
  recordWrite,
} from '../../buckets/bucket-record.js'
import { bucketDeleting, bucketNotFound, tooMuchContention, versionConflict } from '../../buckets/refusals.js'
import type { SchemaChanges } from '../../buckets/schema-changes.js'
import { readHistory } from '../../buckets/schema-history.js'
import type { LogFollower } from '../../coherence/log-follower.js'
import { type Answer, JSON_TYPE, jsonAnswer } from '../../http/answer.js'
import { holds, isConditional, readConditions } from '../../http/conditions.js'
import { isJson } from '../../http/content-types.js'
import { readBody } from '../../http/request-body.js'
import { parameterInvalid } from '../../http/request-target.js'
import { checkExact, readJsonObject } from '../../json/json-text.js'
import type { Log } from '../../monitoring/log.js'
import type { Metrics } from '../../monitoring/metrics.js'
import type { ServerRecorder } from '../../recording/server-recorder.js'
import type { Call, Route } from '../../routing/call.js'
import type { ServerSettings } from '../../settings/server-settings.js'
import { ATTEMPTS_MAX, SETTINGS_BY_DEFAULT, tooManyBuckets } from '../../writing/committer.js'
import type { CounterAdditions } from '../counters/counter-additions.js'
import { asksForTotals, type CounterTotals, TOTALS_PARAMETERS } from '../counters/counter-totals.js'
import { LIST_PARAMETERS, type ListReader } from '../lists/list-reader.js'
import { isQuery, QUERY_PARAMETERS, type QueryReader } from '../lists/query-reader.js'
import type { ObjectRoutes } from '../objects/object-routes.js'
import type { BucketDeletion } from './bucket-deletion.js'

export interface BucketRoutesOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly follower: LogFollower
  readonly buckets: BucketDirectory
  readonly metrics: Metrics
  readonly recorder: ServerRecorder | undefined
  readonly lists: ListReader
  readonly totals: CounterTotals
  readonly queries: QueryReader
  readonly objects: ObjectRoutes
  readonly additions: CounterAdditions
  readonly schemas: SchemaChanges
  readonly deletion: BucketDeletion
  readonly log: Log
}

const PARAMETERS = [
  ...new Set([...LIST_PARAMETERS, ...QUERY_PARAMETERS, ...TOTALS_PARAMETERS, 'schemas', 'settings']),
].sort()

export class BucketRoutes {
  readonly #options: BucketRoutesOptions

  constructor(options: BucketRoutesOptions) {
    this.#options = options
  }

  routes(): readonly Route[] {
    return [
      { pattern: '/db', methods: { GET: { access: 'rules', handle: call => this.#namespaces(call) } } },
      {
        pattern: '/db/{namespace}',
        methods: {
          GET: { access: 'rules', handle: call => this.#bucketsOf(call) },
          DELETE: { access: 'admin', handle: call => this.#options.deletion.deleteNamespace(call) },
        },
      },
      {
        pattern: '/db/{namespace}/{bucket}',
        methods: {
          GET: { access: 'rules', rights: ['list'], handle: call => this.#get(call), parameters: PARAMETERS },
          PUT: { access: 'admin', handle: call => this.#configure(call, text => text), takesBody: true },
          PATCH: { access: 'admin', handle: call => this.#configure(call, mergeSettings), takesBody: true },
          DELETE: {
            access: 'admin',
            handle: call => this.#options.deletion.deleteBucket(bucketKeyOf(call.names), call),
          },
          // Additions to counters are updates.
          POST: { access: 'rules', rights: ['create', 'update'], handle: call => this.#post(call), takesBody: true },
        },
      },
    ]
  }

  async #namespaces({ caller }: Call): Promise<Answer> {
    await this.#catchUp(caller)
    const namespaces = new Set(this.#listable(caller).map(key => key.slice(0, key.indexOf('/'))))
    const answer: NamespaceList = { namespaces: [...namespaces] }
    return jsonAnswer(200, answer, this.#positionHeader())
  }

  async #catchUp(caller: Caller | undefined): Promise<void> {
    await this.#options.follower.catchUp()
    caller?.decideAnew()
  }

  /** The buckets that the caller may list. */
  #listable(caller: Caller | undefined): readonly Key[] {
    if (caller !== undefined) caller.wasAsked = true
    return this.#options.buckets.keys().filter(key => caller === undefined || caller.may('list', key))
  }

  async #bucketsOf({ caller, names: [namespace = ''] }: Call): Promise<Answer> {
    checkName('namespace', namespace)
    const { buckets } = this.#options
    await this.#catchUp(caller)
    const keys = this.#listable(caller).filter(key => key.startsWith(`${namespace}/`))
    const answer: BucketList = {
      buckets: keys.map(key => ({ bucket: key.slice(namespace.length + 1), ...buckets.get(key)!.settings })),
    }
    return jsonAnswer(200, answer, this.#positionHeader())
  }

  async #get(call: Call): Promise<Answer> {
    const key = bucketKeyOf(call.names)
    if (asksForTotals(call.parameters)) return this.#options.totals.read(key, call)
    if (isQuery(call.parameters)) return this.#options.queries.query(key, call)
    const asked = ['schemas', 'settings'].find(name => call.parameters.has(name))
    if (asked === undefined) return this.#options.lists.list(key, call)
    if (call.parameters.size > 1) throw parameterInvalid(`${asked} cannot be combined with other parameters.`)
    await this.#catchUp(call.caller)
    call.caller?.check('list', key)
    // Taken now: at a later position, other rules may be in force.
    const positionHeader = this.#positionHeader()
    const bucket = this.#options.buckets.get(key)
    if (bucket === undefined) throw bucketNotFound(key, this.#options.follower.position)
    if (asked === 'schemas') {
      const answer: SchemaList = { schemas: await readHistory(this.#options.store, key) }
      return jsonAnswer(200, answer, positionHeader)
    }
    const seesAll = call.caller?.seesAllOf(key) ?? true
    const settings = { ...bucket.settings, ...(await this.#indexStates(bucket, seesAll)) }
    return jsonAnswer(200, settings, ['ETag', formatEtag(bucket.version), ...positionHeader])
  }

  /** How far the store has built each index. Includes numbers of objects only for callers who may see all of them. */
  async #indexStates({ key, settings }: Bucket, seesAll: boolean): Promise<Pick<BucketSettingsAnswer, 'indexes'>> {
    if (settings.indexes === undefined) return {}
    const states = await this.#options.store.indexes(key)
    return {
      indexes: states.map(({ name, fields, isReady, done, total }) => ({
        ...{ name, fields, isReady },
        ...(seesAll ? { done, total } : {}),
      })),
    }
  }

  /** Writes a new object, or adds to counters if the bucket holds those. */
  async #post(call: Call): Promise<Answer> {
    const { follower, buckets, objects, additions } = this.#options
    await follower.catchUp()
    const { kind } = buckets.get(bucketKeyOf(call.names))?.settings ?? SETTINGS_BY_DEFAULT
    return kind === 'counter' ? additions.many(call) : objects.post(call)
  }

  /** `settingsOf`: applies the body to the existing settings. */
  async #configure(
    { exchange, caller, names }: Call,
    settingsOf: (text: string, before: BucketSettings | undefined) => string,
  ): Promise<Answer> {
    const key = bucketKeyOf(names)
    const { headers } = exchange.request
    const conditions = readConditions(headers)
    const contentType = headers['content-type']
    if (contentType !== undefined && !isJson(contentType)) throw settingsAreJson()
    const limits = this.#options.settings
    const text = readJsonObject(await readBody(exchange, limits.bodyBytesMax, 'bodyBytesMax'), limits)
    checkExact(text)
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      await this.#options.follower.catchUp()
      const before = this.#options.buckets.get(key)
      const deletion = before?.record.deletion
      if (deletion !== undefined) throw bucketDeleting(key, deletion)
      const settings = readBucketSettings(settingsOf(text, before?.settings), limits.lifetimeMsMax)
      const version = before?.version ?? 0
      if (isConditional(conditions) && !holds(conditions, version)) throw versionConflict(key, version)
      const { schemaVersion } = settings
      if (schemaVersion !== undefined && schemaVersion !== (before?.settings.schemaVersion ?? 0)) {
        throw versionConflict(key, version)
      }
      const answer = await this.#change(key, before, settings, attempt, caller)
      if (answer) return answer
    }
    throw tooMuchContention()
  }

  async #change(
    key: Key,
    before: Bucket | undefined,
    change: BucketChange,
    attempt: number,
    caller: Caller | undefined,
  ): Promise<Answer | undefined> {
    const { store, buckets, metrics, settings: server, recorder, schemas, log } = this.#options
    const { migration: _, schema: __, schemaVersion: ___, ...settings } = change
    if (before === undefined && buckets.size >= server.bucketsMax) throw tooManyBuckets(server.bucketsMax)
    const changesKind = before !== undefined && spellingOf(before.settings) !== spellingOf(settings)
    if (changesKind) await this.#checkEmpty(before)
    const { fields, lists, writes, task } = await schemas.plan(key, before, change, attempt)
    const record = changeRecord(before?.record, { ...settings, ...fields }, store.nowMs(), server)
    const reads = [{ key, version: before?.version ?? 0 }]
    const audited = caller && bucketAudit(caller, key, before?.record, record)
    const audit = audited === undefined ? [] : [auditWrite(audited)]
    const stored = [this.#recordWrite(key, record), ...writes, ...audit]
    const result = await (recorder ?? store).commit({ reads, lists, writes: stored })
    if (!result.committed) {
      metrics.conflicts.value++
      return undefined
    }
    metrics.commits.value++
    if (audited !== undefined) log.write('info', 'audit', { ...audited })
    if (changesKind) await this.#undoUnlessEmpty(before, record, result.position)
    const { position } = result
    const answer: BucketAnswer = { id: key, version: position, position, ...(task === undefined ? {} : { task }) }
    const headers = ['ETag', formatEtag(position), 'Freshet-Position', `${position}`]
    if (task !== undefined) return jsonAnswer(202, answer, [...headers, 'Location', `/tasks/${task}`])
    return jsonAnswer(before ? 200 : 201, answer, headers)
  }

  async #checkEmpty({ key, settings: { kind, schema } }: Bucket): Promise<void> {
    if (schema !== undefined) {
      throw new FreshetError(
        'BUCKET_EXISTS',
        `The bucket ${key} has a schema, so its kind remains ${kind}. Remove the schema first.`,
      )
    }
    const { entries } = await this.#options.store.scan(key, { limit: 1 })
    if (entries.length === 0) return
    throw new FreshetError(
      'BUCKET_EXISTS',
      `The bucket ${key} holds objects, so its kind remains ${kind}, with the same decimals. Use another bucket, or delete ` +
        'the objects first.',
    )
  }

  /** A write may have come in between the check and the commit. None can come after the commit, since writes check the bucket. */
  async #undoUnlessEmpty(before: Bucket, changed: BucketRecord, version: Version): Promise<void> {
    const { key, settings } = before
    const { store, settings: server, recorder } = this.#options
    try {
      await this.#checkEmpty(before)
    } catch (error) {
      const record = changeRecord(changed, settings, store.nowMs(), server)
      await (recorder ?? store).commit({ reads: [{ key, version }], writes: [this.#recordWrite(key, record)] })
      throw error
    }
  }

  /** Settings that are left out are removed, and so are indexes. */
  #recordWrite(key: Key, record: BucketRecord): Write {
    return { ...recordWrite(key, record), indexes: record.indexes ?? [] }
  }

  #positionHeader(): readonly string[] {
    return ['Freshet-Position', `${this.#options.follower.position}`]
  }
}

function bucketAudit(caller: Caller, bucket: Key, before: BucketRecord | undefined, after: BucketRecord): Audited {
  return { who: caller.subject, from: caller.from, what: 'bucket', bucket, before: before ?? null, after }
}

function bucketKeyOf([namespace = '', bucket = '']: readonly string[]): Key {
  checkName('namespace', namespace)
  checkName('bucket', bucket)
  return `${namespace}/${bucket}`
}

/** The encoding of stored values. If it changes, stored values mean something else. */
function spellingOf({ kind, decimals = 0 }: BucketSettings): string {
  return `${kind} ${decimals}`
}

function settingsAreJson(): FreshetError {
  return new FreshetError(
    'CONTENT_TYPE_UNSUPPORTED',
    'The settings of a bucket are JSON, such as {"kind":"kv"}. Send the header "Content-Type: application/json"; to ' +
      'write an object, name it: PUT /db/{namespace}/{bucket}/{id}.',
    { details: { accept: [JSON_TYPE] } },
  )
}
