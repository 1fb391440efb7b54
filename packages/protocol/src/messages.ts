/** The JSON that travels between client and server. Every field is documented here and in /openapi.json. */
import type { IdRange } from './id-range.js'
import type { Position, Version } from './positions.js'
import type { IndexDeclaration } from './queries/index-declaration.js'
import type { Tag } from './queries/tag.js'

/** `GET /coherence`: what changed during the window; with `?after=P`, only what the reader does not know yet. */
export interface CoherenceHead {
  /** The id of the change log. If it differs from the known one, everything that the reader knows is void. */
  readonly log: string
  /** The head reflects every commit up to this position, and so every one acknowledged before it was asked for. */
  readonly position: Position
  /** Where the window begins: a reader that knows everything after this needs nothing older. */
  readonly from: Position
  /** No cache serves a copy that was read from the store longer ago than this. */
  readonly windowMs: number
  /** The server's clock when it answered, as `/time` has it. */
  readonly timeMs: number
  /** The nonce of the request: an answer that has another one was replayed by a cache. Absent if the request had none. */
  readonly nonce?: string
  /** The buckets that the rules let everyone read, whether they exist or not: a client does not send its token for them. */
  readonly open?: OpenBuckets
  /** 16 hex digits: the seed of every filter and hash in the sketch. */
  readonly seed: string
  /** Closed segments, oldest first, contiguous; only those that end after `after`. They never change. */
  readonly segments: readonly SegmentRef[]
  /** The changes after the last closed segment. */
  readonly tail: Tail
}

/** As patterns of the rules: `shop/products`, with `*` for any name. A change of the rules changes them with the next head. */
export interface OpenBuckets {
  readonly read: readonly string[]
  /** A caller that may list one of these buckets sees only what it may read in its lists. */
  readonly list: readonly string[]
}

/** What `GET /coherence?after=P` answers instead, if all changes since then can be listed. */
export interface CoherenceNews {
  /** A head without the parts that its reader knows, with a proof of the nonce; drawn in @freshet/core, src/coherence/news.ts. */
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

/** Everything that changed in a stretch of the log, as sent in the event streams of `GET /coherence/events`. */
export interface ChangesEvent {
  readonly from: Position
  readonly to: Position
  /**
   * The server process's own monotonic clock, read before the server asked the store how far the log goes: `to` includes every
   * commit acknowledged by then. Unlike the store's clock it never stands still to catch up later. It is valid on this stream
   * only.
   */
  readonly askedMs: number
  readonly changes: PackedChanges
}

/** The event `start` of `GET /coherence/events`: where a stream begins, or continues after a gap. */
export interface StreamStart extends ChangesEvent {
  /** The log that all events of the stream belong to. */
  readonly log: string
  /**
   * Only in the first event of a stream requested with `?nonce=`, which it repeats: it proves that the stream is not an old one.
   */
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
  /** What it holds: JSON objects, bytes (`kv`), or counters. */
  readonly kind: 'object' | 'kv' | 'counter'
  /** How long caches may keep its objects. Not together with `learn`. */
  readonly lifetimeMs?: number
  /** The server learns how long caches may keep each object from how often it is written, within these bounds. */
  readonly learn?: { readonly minMs: number; readonly maxMs: number }
  /** Writes must say which version they replace (If-Match, or If-None-Match: *), else 428. */
  readonly requireMatch?: boolean
  /** Writes must have an Idempotency-Key, so that they can be repeated, else 400. */
  readonly requireIdempotencyKey?: boolean
  /** For a bucket of counters: how many digits they have after the point; 0 unless given. */
  readonly decimals?: number
  /** For a bucket of counters: the lowest value that any of them may have. */
  readonly min?: number
  /** For a bucket of counters: the highest value that any of them may have. */
  readonly max?: number
  /** The indexes that its objects can be found by; see docs/guides/queries.md. */
  readonly indexes?: readonly IndexDeclaration[]
  /** The schema that its objects must satisfy, else 422: JSON Schema 2020-12. For buckets of kind `object`. */
  readonly schema?: JsonSchema
  /** Grows with each change of the schema. Send it only as a condition: it is the version to replace. */
  readonly schemaVersion?: number
}

/** `GET` of a bucket with `?settings`: includes the progress of each index. */
export interface BucketSettingsAnswer extends BucketSettings {
  readonly indexes?: readonly IndexProgress[]
}

export interface IndexProgress extends IndexDeclaration {
  /** Queries use it only then. */
  readonly isReady: boolean
  /** `done` of the `total` objects older than the index are in it. Only for callers that may see all of them. */
  readonly done?: number
  readonly total?: number
}

/** Keywords and their values. `x-reference` is ours: see `Reference`. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** `x-reference` in a schema, on a string that holds the id of an object: the name of its bucket, or this. */
export interface Reference {
  /** The bucket of the object, such as `shop/customers`. */
  readonly bucket: string
  /** The object must exist when the reference is written, else 422. */
  readonly check?: boolean
}

/** `PUT /db/{ns}/{bucket}` */
export interface BucketChange extends BucketSettings {
  /** How existing objects are made to satisfy the new schema. Without it they must satisfy it already, else 409. */
  readonly migration?: Migration
}

/** Steps that the server applies to each object, or `by` a client, which writes each object again; see docs/guides/schemas.md. */
export type Migration =
  | { readonly name?: string; readonly steps: readonly MigrationStep[] }
  | { readonly name: string; readonly by: 'client' }

/** Fields are JSON pointers that lead through objects: `/price`, `/address/city`. */
export type MigrationStep =
  /** Fails if the object already has the new name. */
  | { readonly rename: string; readonly to: string }
  /** For objects that do not have it. */
  | { readonly default: string; readonly value: unknown }
  | { readonly remove: string }

/** The answer to a PUT, PATCH or DELETE of a bucket. */
export interface BucketAnswer extends WriteAnswer {
  /** Objects are checked, changed or deleted in the background; `GET /tasks/{id}` reports the progress. */
  readonly task?: string
}

/** The answer to a DELETE of a namespace. */
export interface NamespaceAnswer {
  readonly position: Position
  /** Each task deletes one bucket. */
  readonly tasks: readonly string[]
}

/** `GET /db/{ns}/{bucket}?schemas`: every schema it ever had, oldest first. */
export interface SchemaList {
  readonly schemas: readonly SchemaVersion[]
}

export interface SchemaVersion {
  readonly version: number
  /** Null from when the bucket had no schema. */
  readonly schema: JsonSchema | null
  /** The position of the commit from which the schema applied to every write. */
  readonly position: Position
  /** The name of the migration that introduced it. */
  readonly migration?: string
  /** The task of that migration. */
  readonly task?: string
}

/** One place where an object violates the schema. */
export interface SchemaViolation {
  /** The path of the object. */
  readonly path: string
  /** JSON pointer into it; empty for the object itself. */
  readonly at: string
  /** What the schema says of that place, such as `have required property 'price'`. */
  readonly expected: string
}

/** `GET /tasks` */
export interface TaskList {
  readonly tasks: readonly Task[]
}

/**
 * `GET /tasks/{id}`: objects of a bucket are being checked against a new schema, changed to satisfy it, or deleted with the
 * bucket.
 */
export interface Task {
  /** As in `GET /tasks/{id}`. */
  readonly id: string
  /** What it does with the objects. */
  readonly kind: 'check' | 'migration' | 'deletion'
  /** The name of the bucket, such as `shop/products`. */
  readonly bucket: string
  /** The version of the schema that it applies; 0 if it applies none. */
  readonly schemaVersion: number
  /** The name of the migration. */
  readonly name?: string
  /** The side that changes the objects. The server does all checking. */
  readonly by: 'server' | 'client'
  /** Whether it is still running, and how it ended. */
  readonly state: 'running' | 'done' | 'failed' | 'cancelled'
  /** What it is doing now, or was doing when it ended. */
  readonly phase: 'changing' | 'checking' | 'deleting'
  /** For a migration: objects with earlier versions than this must still be changed. */
  readonly from?: Position
  /** How many objects were looked at in this phase. */
  readonly done: number
  /** How many objects there were at the start; absent until they are counted, and for a deletion. */
  readonly total?: number
  /** How many objects it has written. */
  readonly changed: number
  /** The last id looked at in this phase. */
  readonly after?: string
  /** Why it failed. */
  readonly error?: { readonly message: string; readonly violations?: readonly SchemaViolation[] }
}

/** `POST /tasks/{id}` */
export type TaskAction =
  /** After a failure: continues where it stopped. */
  | { readonly do: 'resume' }
  /** Cancels a check, and with it the new schema; a cancelled migration leaves the objects it did not reach unchanged. */
  | { readonly do: 'cancel' }
  /** From the client that changes the objects: it has done those up to `after`. */
  | { readonly do: 'progress'; readonly after: string; readonly done: number; readonly changed: number }
  /** From the same client: it has done all of them. The server checks that. */
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

/** `GET /db/{ns}/{bucket}?where=...`: a page of the objects that a query finds. */
export interface QueryAnswer<Value = unknown> extends ListPage<Value> {
  /** The same version means the same result. Absent if the caller sees only some objects, and hidden ones could change it. */
  readonly version?: Version
  /** Only a change that carries one of these tags can change the result; absent: any change in the bucket. */
  readonly dependsOn?: readonly Tag[]
}

/** With `explain`: how the query is answered. */
export interface QueryExplanation {
  /** Which index is used, and how. */
  readonly plan: QueryPlan
  /** How many objects were looked at. */
  readonly examined: number
  /** How many of them are on this page. */
  readonly found: number
  /** The same version means the same result. */
  readonly version: Version
  /** Only a change that carries one of these tags can change the result; absent: any change in the bucket. */
  readonly dependsOn?: readonly Tag[]
}

/** How a query is answered. */
export interface QueryPlan {
  /** The index that is read; absent: the bucket is read by id. */
  readonly index?: string
  /** The index's first fields, which the filter compares for equality. */
  readonly equal: readonly string[]
  /** The field after those, of which a range is read. */
  readonly range?: string
  /** It is read in the requested order, and no further than the page; otherwise everything found is sorted. */
  readonly isSorted: boolean
  /** The same for people. */
  readonly text: string
}

/** `POST /commit`: everything or nothing. */
export interface CommitRequest {
  /** Versions that must still hold; 0 for an absent object. Keys are paths. */
  readonly reads?: readonly { readonly path: string; readonly version: Version }[]
  /** Ranges of buckets in which nothing may have been written, created or deleted since. */
  readonly lists?: readonly ListRead[]
  /** Empty: the commit only checks whether the reads and lists hold, all at one position. */
  readonly writes: readonly CommitWrite[]
  /**
   * If the commit is refused, its client wants to be the next that may write the changed objects and those it writes: for this
   * many milliseconds, or as long as the server allows. The answer waits until it is the client's turn, and then has a `lease`.
   */
  readonly lease?: true | number
  /** The commit was made under this lease, which ends with it; if the commit has nothing else, it gives the lease back. */
  readonly leaseId?: string
}

/** In the problem COMMIT_CONFLICT, if a lease was requested and granted. Readers do not notice it; other writers wait. */
export interface CommitLease {
  /** To send as `leaseId`. */
  readonly id: string
  /** How long it lasts, unless it is used earlier. */
  readonly ms: number
  /** How long this answer has waited for its turn. */
  readonly waitedMs: number
  /** The paths that others wait for. */
  readonly leased: readonly string[]
  /**
   * Everything that the commit had read, as it is now; version 0: absent. Objects that are too large or not JSON are left out.
   */
  readonly objects: readonly LeasedObject[]
}

export interface LeasedObject {
  readonly path: string
  readonly version: Version
  readonly value?: unknown
}

/** What a list of a bucket has shown: no object in the range has changed after this version of the bucket. */
export interface ListRead extends IdRange {
  /** The path of the bucket. */
  readonly path: string
  readonly version: Version
  /** Inclusive: the last id of a page that others follow. */
  readonly through?: string
  /** For a query, `dependsOn` of its result: only changes that carry one of these tags count. Not together with a range. */
  readonly tags?: readonly Tag[]
}

export type CommitWrite =
  | { readonly path: string; readonly value: unknown }
  /** A JSON merge patch (RFC 7396) of the object, which must be among the reads: members it does not name stay byte for byte. */
  | { readonly path: string; readonly patch: unknown }
  | { readonly path: string; readonly contentType: string; readonly base64: string }
  | { readonly path: string; readonly delete: true }
  /** Adds to a counter. */
  | { readonly path: string; readonly add: number }

/** The answer to a commit. */
export interface CommitAnswer {
  /** Also the version of everything it wrote. */
  readonly position: Position
  /** The new values of its counters, in their order among the writes; absent if it adds to no counter. */
  readonly values?: readonly number[]
}

/** The answer to a PUT, POST, PATCH or DELETE of one object. */
export interface WriteAnswer {
  /** The id of the object that was written. */
  readonly id: string
  /** The version that this write has given it. */
  readonly version: Version
  /** The position of the write in the change log. */
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
  /** compact: only hashes of foreign ids are remembered, in a filter. */
  readonly mode: 'exact' | 'compact'
  /** How often a new foreign id is looked up on disk in vain; in compact mode, how often it is mistaken for a known one. */
  readonly falsePositiveRate: number
}

/** `GET /idempotency` */
export interface IdempotencyAnswer extends OperationCounts {
  /** How long after it was begun an operation may be sent again. */
  readonly retentionMs: number
  /** How many operations were sent again to this process, and got their first answer again. */
  readonly replays: number
}

/** The answer to `GET /sql` and `POST /sql`: rows from one global state, and which state. */
export interface SqlAnswer {
  readonly columns: readonly string[]
  /** `integer`, `decimal` (as a string), `float`, `text`, `date` (as a string), `boolean`, `other`. */
  readonly types: readonly string[]
  readonly rows: readonly (readonly (string | number | boolean | null)[])[]
  /** For each table that it depends on, the last global write. */
  readonly versions: SqlVersions
  /** The latest of them. */
  readonly position: Position
  /** Caches may keep it: its tables are written only through `POST /global`. */
  readonly isKept?: boolean
}

/** The first line of a result as `application/x-ndjson`. Each line after it is a row, or the error that cut the result off. */
export type SqlStreamHead = Omit<SqlAnswer, 'rows' | 'isKept'>

/** The answer to `GET /sql/versions`. */
export interface SqlHead {
  /** The position of the last global write. */
  readonly position: Position
  /** For each table that was ever written, the last global write. */
  readonly versions: SqlVersions
  /** The nonce of the request; absent if it had none. */
  readonly nonce?: string
}

/** The last global write to each table, by the table's name. */
export type SqlVersions = Readonly<Record<string, Position>>

/** The answer to `?explain`. */
export interface SqlExplanation {
  /** whole: one shard has everything. rows: the shards' rows are put one after the other. groups: groups are added up. */
  readonly way: 'whole' | 'rows' | 'groups'
  /** Whether its rows can be sent as they come; otherwise they are collected first. */
  readonly streams: boolean
  readonly tables: readonly string[]
  /** The statement that each shard gets. */
  readonly asked: readonly {
    readonly shard: string
    readonly statement: string
    readonly values: readonly (string | number | boolean | null)[]
  }[]
}

/** The answer to `POST /global`: the write is in the log, and all shards will apply it. */
export interface GlobalAnswer {
  readonly position: Position
  readonly applied: readonly string[]
  /** The shards that do not answer, or have not been added yet. */
  readonly pending: readonly string[]
  /** For each table that it changes, this position. */
  readonly versions: SqlVersions
  readonly replayed?: boolean
}

export interface ShardStatus {
  readonly name: string
  /** Up to where it has applied the log; absent if it does not answer. */
  readonly applied?: Position
  readonly behind?: number
  /** It does not take part yet: `freshet shards add` has not filled it. */
  readonly isWaiting?: boolean
  /** Why it refuses the next global write. */
  readonly obstacle?: string
  readonly error?: string
}

/** The answer to `GET /global`. */
export interface GlobalStatus {
  /** The position of the last global write. */
  readonly position: Position
  /** Whether this server is the one that brings shards up to date. */
  readonly isLeading: boolean
  readonly shards: readonly ShardStatus[]
}
