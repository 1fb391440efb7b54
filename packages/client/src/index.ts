export type { ReadMode } from '@freshet/core/coherence'
export {
  type BucketAnswer,
  type BucketChange,
  type BucketSettings,
  type CommitAnswer,
  FreshetError,
  type FreshetErrorCode,
  type IndexDeclaration,
  type JsonSchema,
  type Migration,
  type MigrationStep,
  type Position,
  type QueryExplanation,
  type QueryPlan,
  type Reference,
  type SchemaViolation,
  type Task,
  type Version,
  type WriteAnswer,
} from '@freshet/protocol'
export type {
  Bucket,
  CreateOptions,
  IdAndVersion,
  ListOptions,
  Page,
  PutOptions,
  SettingsChange,
} from './buckets/bucket.js'
export type {
  AnyBuckets,
  BucketTypes,
  CommitPartIn,
  CommitReadIn,
  CounterBucketName,
  DropName,
  KvBucketName,
  ObjectBucketName,
  ObjectIn,
} from './buckets/bucket-types.js'
export type { DropOptions } from './buckets/drop.js'
export type { BytesInput, KvBucket, StoredBytes } from './buckets/kv-bucket.js'
export type { JsonPatch, ObjectBucket, QueryResult } from './buckets/object-bucket.js'
export { type Facts, idOf, type Stored, versionOf } from './buckets/stored.js'
export { violationsOf } from './buckets/violations-of.js'
export { type Clock, type ClockSources, createPessimisticClock } from './clock/pessimistic-clock.js'
export { connect } from './connect.js'
export type { ConnectOptions } from './connect-options.js'
export type { AddAnswer, TopCounter } from './counters/counter-bucket.js'
export type { AddOptions, CounterSettings, Counters } from './counters/counters.js'
export type { CommitOptions, Database, DatabaseOutbox, TransactOptions } from './database.js'
export type { Authorization } from './http/authorization.js'
export type { Fetch } from './http/transport.js'
export type { Comparison, Condition, FieldOf, Filter, QueryOptions, SortField } from './queries/query-options.js'
export { type ReadOptions, within } from './reading/read-options.js'
export type { ReadEvent, Served, ServedFrom } from './reading/served.js'
export type { RecordOption, RecordOptions } from './recording/record-options.js'
export type { DatabaseSession } from './session/database-session.js'
export type { Transaction, TransactionOptions } from './transactions/transaction.js'
export type {
  TransactionBucket,
  TransactionQuery,
  TransactionWriteOptions,
  WrittenId,
} from './transactions/transaction-bucket.js'
export type { TransactionCounters } from './transactions/transaction-counters.js'
export type { AdditionResult, CounterAddition } from './writing/additions.js'
export type { CommitPart, CommitRead, ObjectRef } from './writing/commit.js'
export type { Flushed, FlushedWrite, OutboxStorage } from './writing/outbox.js'
export type { WriteOptions } from './writing/write.js'
