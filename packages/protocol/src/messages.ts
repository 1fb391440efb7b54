/** The JSON that travels between client and server. Every field is documented here and in /openapi.json. */
import type { IdRange } from './id-range.js'
import type { Position, Version } from './positions.js'
import type { IndexDeclaration } from './queries/index-declaration.js'
import type { Tag } from './queries/tag.js'

/** `GET /coherence`: what changed during the window; with `?after=P`, as far as the reader does not know it. */
export interface CoherenceHead {
  /** The id of the change log. When it differs from the one known, everything known is void. */
  readonly log: string
  /** The head reflects every commit up to this position, and so every one acknowledged before it was asked for. */
  readonly position: Position
  /** Where the window begins: who knows everything after this needs nothing older. */
  readonly from: Position
  /** No cache serves a copy that was read from the store longer ago than this. */
  readonly windowMs: number
  /** The server's clock when it answered, as `/time` has it. */
  readonly timeMs: number
  /** The nonce of the request: an answer that has another one was replayed by a cache. Absent if the request had none. */
  readonly nonce?: string
  /** Which buckets everybody may read, as the rules have it, whether they exist or not: a client leaves out its token there. */
  readonly open?: OpenBuckets
  /** 16 hex digits: the seed of every filter and hash in the sketch. */
  readonly seed: string
  /** Closed segments, oldest first, contiguous; only those that end after `after`. They never change. */
  readonly segments: readonly SegmentRef[]
  /** What the last closed segment does not hold. */
  readonly tail: Tail
}

/** By patterns of the rules: `shop/products`, with `*` for any name. All that a change of the rules makes of it comes with a head. */
export interface OpenBuckets {
  readonly read: readonly string[]
  /** Who may list a bucket sees in its lists what it may read. */
  readonly list: readonly string[]
}

/** What `GET /coherence?after=P` answers instead, where all that changed since can be listed. */
export interface CoherenceNews {
  /** A head without what its reader knows already, with a proof of the nonce; drawn in @freshet/core, src/coherence/news.ts. */
  readonly news: string
}

export interface SegmentRef {
  /** Covers the changes with from < position <= to. */
  readonly from: Position
  readonly to: Position
}

/** Few changes are listed one by one; many are a filter. `from` may be later than the last segment's end: see `after`. */
export type Tail =
  | { readonly from: Position; readonly to: Position; readonly changes: PackedChanges }
  | { readonly from: Position; readonly to: Position; readonly filter: string }

/** Positions, and at each the hashes of the paths that changed; drawn in @freshet/core, src/coherence/packed-changes.ts. */
export type PackedChanges = string

/** All that changed in a stretch of the log, as the event streams of `GET /coherence/events` have it. */
export interface ChangesEvent {
  readonly from: Position
  readonly to: Position
  /**
   * The server process's own monotonic clock, read before the server asked the store how far the log goes: `to` includes every commit
   * acknowledged by then. Unlike the store's clock it never stands still to catch up later. It means something on this stream alone.
   */
  readonly askedMs: number
  readonly changes: PackedChanges
}

/** The event `start` of `GET /coherence/events`: where a stream begins, or goes on after a gap. */
export interface StreamStart extends ChangesEvent {
  /** The log that all events of the stream are of. */
  readonly log: string
  /** Only in the first event of a stream that was asked for with `?nonce=`, which it repeats: so the stream is no old one. */
  readonly nonce?: string
  /** With the nonce: the clock of `askedMs` when the request had come. `to` includes every commit acknowledged by then. */
  readonly clockMs?: number
}

/** `GET /time` */
export interface ServerTime {
  /** Milliseconds of a clock that only goes forward and belongs to this log; not the time of day. */
  readonly timeMs: number
  /** The nonce of the request; absent if it had none. */
  readonly nonce?: string
}

/** `PUT /db/{ns}/{bucket}` and `GET` of it with `?settings`. */
export interface BucketSettings {
  readonly kind: 'object' | 'kv' | 'counter'
  /** How long caches may keep its objects. Not together with `learn`. */
  readonly lifetimeMs?: number
  /** How long caches may keep each object is learnt from how often it is written, within these bounds. */
  readonly learn?: { readonly minMs: number; readonly maxMs: number }
  /** Writes must say which version they replace (If-Match, or If-None-Match: *), else 428. */
  readonly requireMatch?: boolean
  /** Writes must have an Idempotency-Key, so that they can be repeated, else 400. */
  readonly requireIdempotencyKey?: boolean
  /** Of a bucket of counters: how many digits they have after the point; 0 unless given. */
  readonly decimals?: number
  /** Of a bucket of counters: what none of them may go below, or above. */
  readonly min?: number
  readonly max?: number
  /** What its objects can be found by; see docs/queries.md. */
  readonly indexes?: readonly IndexDeclaration[]
  /** What its objects must be like, else 422: JSON Schema 2020-12. For buckets of kind `object`. */
  readonly schema?: JsonSchema
  /** Grows with each change of the schema. To be sent only as a condition: this is the version to be replaced. */
  readonly schemaVersion?: number
}

/** `GET` of a bucket with `?settings`: also how far each index is. */
export interface BucketSettingsAnswer extends BucketSettings {
  readonly indexes?: readonly IndexProgress[]
}

export interface IndexProgress extends IndexDeclaration {
  /** Only then queries use it. */
  readonly isReady: boolean
  /** So many of the objects that were there before it was declared are in it, of so many. For callers who see all of them. */
  readonly done?: number
  readonly total?: number
}

/** Keywords and their values. `x-reference` is ours: see `Reference`. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** `x-reference` in a schema, of a text that holds the id of an object: the name of its bucket, or this. */
export interface Reference {
  readonly bucket: string
  /** The object must be there when the reference is written, else 422. */
  readonly check?: boolean
}

/** `PUT /db/{ns}/{bucket}` */
export interface BucketChange extends BucketSettings {
  /** How the objects that are there come to satisfy the new schema. Without it they must already, else 409. */
  readonly migration?: Migration
}

/** Steps that the server takes with each object, or `by` a client, which puts each object anew; see docs/schemas.md. */
export type Migration =
  | { readonly name?: string; readonly steps: readonly MigrationStep[] }
  | { readonly name: string; readonly by: 'client' }

/** Fields are JSON pointers that lead through objects: `/price`, `/address/city`. */
export type MigrationStep =
  /** Fails where the new name is taken. */
  | { readonly rename: string; readonly to: string }
  /** For objects that do not have it. */
  | { readonly default: string; readonly value: unknown }
  | { readonly remove: string }

/** What a PUT, PATCH or DELETE of a bucket answers. */
export interface BucketAnswer extends WriteAnswer {
  /** Objects are checked, changed or deleted in the background; `GET /tasks/{id}` tells how far that is. */
  readonly task?: string
}

/** What a DELETE of a namespace answers. */
export interface NamespaceAnswer {
  readonly position: Position
  /** Each deletes one bucket. */
  readonly tasks: readonly string[]
}

/** `GET /db/{ns}/{bucket}?schemas`: every schema it ever had, oldest first. */
export interface SchemaList {
  readonly schemas: readonly SchemaVersion[]
}

export interface SchemaVersion {
  readonly version: number
  /** Null from when it had none. */
  readonly schema: JsonSchema | null
  /** The position of the commit from which on it held for every write. */
  readonly position: Position
  /** The name of the migration that brought it. */
  readonly migration?: string
  /** The task of that migration. */
  readonly task?: string
}

/** One place where an object is not as the schema says. */
export interface SchemaViolation {
  /** Of the object. */
  readonly path: string
  /** JSON pointer into it; empty for the object itself. */
  readonly at: string
  readonly expected: string
}

/** `GET /tasks` */
export interface TaskList {
  readonly tasks: readonly Task[]
}

/** `GET /tasks/{id}`: objects of a bucket being checked against a new schema, changed to satisfy it, or deleted with the bucket. */
export interface Task {
  readonly id: string
  readonly kind: 'check' | 'migration' | 'deletion'
  readonly bucket: string
  /** Of the schema that it is about; 0 where it is about none. */
  readonly schemaVersion: number
  /** The name of the migration. */
  readonly name?: string
  /** Who changes the objects. Checking is the server's. */
  readonly by: 'server' | 'client'
  readonly state: 'running' | 'done' | 'failed' | 'cancelled'
  readonly phase: 'changing' | 'checking' | 'deleting'
  /** Of a migration: objects of earlier versions than this are still to be changed. */
  readonly from?: Position
  /** Objects looked at in this phase. */
  readonly done: number
  /** Objects there were at the start; absent until they are counted, and where objects are deleted. */
  readonly total?: number
  /** Objects written by it. */
  readonly changed: number
  /** The last id looked at in this phase. */
  readonly after?: string
  readonly error?: { readonly message: string; readonly violations?: readonly SchemaViolation[] }
}

/** `POST /tasks/{id}` */
export type TaskAction =
  /** After a failure: goes on where it stopped. */
  | { readonly do: 'resume' }
  /** A check is given up, and with it the new schema; a migration leaves the objects it did not reach as they are. */
  | { readonly do: 'cancel' }
  /** From the client that changes the objects: it is done with those up to `after`. */
  | { readonly do: 'progress'; readonly after: string; readonly done: number; readonly changed: number }
  /** From the same: it is done with all. The server checks that. */
  | { readonly do: 'finish' }

/** `GET /db` */
export interface NamespaceList {
  readonly namespaces: readonly string[]
}

/** `GET /db/{ns}` */
export interface BucketList {
  readonly buckets: readonly (BucketSettings & { readonly bucket: string })[]
}

/** `GET /db/{ns}/{bucket}` */
export interface ListPage<Value = unknown> {
  readonly items: readonly ListItem<Value>[]
  /** Pass it as `after` for the next page; absent on the last. */
  readonly next?: string
}

export interface ListItem<Value = unknown> {
  readonly id: string
  readonly version: Version
  /** With `embed` only. JSON for object buckets; `{ contentType, base64 }` for kv buckets. */
  readonly value?: Value
}

/** `GET /db/{ns}/{bucket}?where=...`: a page of what a query finds. */
export interface QueryAnswer<Value = unknown> extends ListPage<Value> {
  /** The same version, the same result. Absent where the caller sees only some objects, and hidden ones could change it. */
  readonly version?: Version
  /** Only a change that carries one of these tags can change the result; absent: any change in the bucket. */
  readonly dependsOn?: readonly Tag[]
}

/** With `explain`: how it is found. */
export interface QueryExplanation {
  readonly plan: QueryPlan
  /** So many objects were looked at, and so many were found for this page. */
  readonly examined: number
  readonly found: number
  readonly version: Version
  readonly dependsOn?: readonly Tag[]
}

/** How a query is found. */
export interface QueryPlan {
  /** The index that is read; none: the bucket is, by id. */
  readonly index?: string
  /** The index's first fields, which the filter compares for equality. */
  readonly equal: readonly string[]
  /** The field after those, of which a range is read. */
  readonly range?: string
  /** It is read in the order asked for, and no further than the page; otherwise everything found is sorted. */
  readonly isSorted: boolean
  /** The same for people. */
  readonly text: string
}

/** `POST /commit`: everything or nothing. */
export interface CommitRequest {
  /** Versions that must still hold; 0 for "not there". Keys are paths. */
  readonly reads?: readonly { readonly path: string; readonly version: Version }[]
  /** Ranges of buckets in which nothing may have been written, created or deleted since. */
  readonly lists?: readonly ListRead[]
  /** None: it is only asked whether the reads and lists hold, all at one position. */
  readonly writes: readonly CommitWrite[]
  /**
   * If it is refused, its client wants to be the next who may write what had changed and what it writes: for so many
   * milliseconds, or as long as the server allows. The answer waits until it is its turn, and has a `lease` then.
   */
  readonly lease?: true | number
  /** It was made under this lease, which ends with it; if there is nothing else in it, the lease is given back. */
  readonly leaseId?: string
}

/** In the problem COMMIT_CONFLICT, if a lease was asked for and granted. Readers do not notice, other writers wait. */
export interface CommitLease {
  /** To be sent as `leaseId`. */
  readonly id: string
  /** How long it lasts, unless it is used earlier. */
  readonly ms: number
  /** How long this answer has waited for its turn. */
  readonly waitedMs: number
  /** The paths that others wait for. */
  readonly leased: readonly string[]
  /** All that the commit had read, as it is now; version 0: not there. What is too large, or not JSON, is left out. */
  readonly objects: readonly LeasedObject[]
}

export interface LeasedObject {
  readonly path: string
  readonly version: Version
  readonly value?: unknown
}

/** What a list of a bucket has shown: no object in the range has changed after this version of the bucket. */
export interface ListRead extends IdRange {
  /** Of the bucket. */
  readonly path: string
  readonly version: Version
  /** Inclusive: the last id of a page that others follow. */
  readonly through?: string
  /** Of a query, as its result has them in `dependsOn`: only changes that carry one of them count. Not with a range. */
  readonly tags?: readonly Tag[]
}

export type CommitWrite =
  | { readonly path: string; readonly value: unknown }
  /** A JSON merge patch (RFC 7396) of the object, which must be among the reads: what it does not name stays byte for byte. */
  | { readonly path: string; readonly patch: unknown }
  | { readonly path: string; readonly contentType: string; readonly base64: string }
  | { readonly path: string; readonly delete: true }
  /** To a counter. */
  | { readonly path: string; readonly add: number }

/** What a commit answers. */
export interface CommitAnswer {
  /** Also the version of everything it wrote. */
  readonly position: Position
  /** What the counters have reached that it added to, in their order among the writes; absent if there were none. */
  readonly values?: readonly number[]
}

/** What a PUT, POST, PATCH or DELETE of one object answers. */
export interface WriteAnswer {
  readonly id: string
  readonly version: Version
  readonly position: Position
}

/** What a store remembers of operations. */
export interface OperationCounts {
  /** Our clients: the store remembers one window of operations for each. */
  readonly clients: number
  /** Operations under ids that other programs have made, which are remembered one by one. */
  readonly foreign: number
  /** How much of that is in memory, and on disk. */
  readonly memoryBytes: number
  readonly diskBytes: number
  /** compact: of foreign ids only hashes are remembered, in a filter. */
  readonly mode: 'exact' | 'compact'
  /** How often a new foreign id is looked up on disk in vain; in compact mode, how often it is mistaken for a known one. */
  readonly falsePositiveRate: number
}

/** `GET /idempotency` */
export interface IdempotencyAnswer extends OperationCounts {
  /** For so long after it was begun an operation may be sent again. */
  readonly retentionMs: number
  /** How many operations were sent again to this process, and answered as the first time. */
  readonly replays: number
}

/** What `GET /sql` and `POST /sql` answer: rows that are of one global state, and which. */
export interface SqlAnswer {
  readonly columns: readonly string[]
  /** `integer`, `decimal` (as text), `float`, `text`, `date` (as text), `boolean`, `other`. */
  readonly types: readonly string[]
  readonly rows: readonly (readonly (string | number | boolean | null)[])[]
  /** Of each table that it depends on, the last global write. */
  readonly versions: SqlVersions
  /** The last of them all. */
  readonly position: Position
  /** Caches may keep it: nobody writes to its tables past `POST /global`. */
  readonly isKept?: boolean
}

/** The first line of a result as `application/x-ndjson`. Each that follows is a row, or the error that cut it off. */
export type SqlStreamHead = Omit<SqlAnswer, 'rows' | 'isKept'>

/** What `GET /sql/versions` answers. */
export interface SqlHead {
  /** Of the last global write. */
  readonly position: Position
  /** Of each table that was ever written, the last global write. */
  readonly versions: SqlVersions
  /** The nonce of the request; absent if it had none. */
  readonly nonce?: string
}

/** The last global write to each table, by the table's name. */
export type SqlVersions = Readonly<Record<string, Position>>

/** What `?explain` answers. */
export interface SqlExplanation {
  /** One shard has all; rows are put one after the other; or groups are added up. */
  readonly way: 'whole' | 'rows' | 'groups'
  /** Whether its rows can be sent as they come; else they are put together first. */
  readonly streams: boolean
  readonly tables: readonly string[]
  /** What each shard is asked. */
  readonly asked: readonly {
    readonly shard: string
    readonly statement: string
    readonly values: readonly (string | number | boolean | null)[]
  }[]
}

/** What `POST /global` answers: it is in the log, and will be applied by all. */
export interface GlobalAnswer {
  readonly position: Position
  readonly applied: readonly string[]
  /** Those that do not answer, or are not there yet. */
  readonly pending: readonly string[]
  /** Of each table that it changes, this position. */
  readonly versions: SqlVersions
  readonly replayed?: boolean
}

export interface ShardStatus {
  readonly name: string
  /** Up to where it has applied the log; absent if it does not answer. */
  readonly applied?: Position
  readonly behind?: number
  /** It is not one of the others yet: `freshet shards add` has not filled it. */
  readonly isWaiting?: boolean
  /** Why it refuses the next global write. */
  readonly obstacle?: string
  readonly error?: string
}

/** What `GET /global` answers. */
export interface GlobalStatus {
  /** Of the last global write. */
  readonly position: Position
  /** Whether the server that was asked is the one that brings shards up to date. */
  readonly isLeading: boolean
  readonly shards: readonly ShardStatus[]
}
