export { inexactNumber, isExactNumber } from './exact-number.js'
export { FreshetError, type FreshetErrorCode, type FreshetErrorOptions } from './freshet-error.js'
export { type IdRange, isBeyond, isWithin } from './id-range.js'
export type {
  BucketAnswer,
  BucketChange,
  BucketList,
  BucketSettings,
  BucketSettingsAnswer,
  ChangesEvent,
  CoherenceHead,
  CoherenceNews,
  CommitAnswer,
  CommitLease,
  CommitRequest,
  CommitWrite,
  GlobalAnswer,
  GlobalStatus,
  IdempotencyAnswer,
  IndexProgress,
  JsonSchema,
  LeasedObject,
  ListItem,
  ListPage,
  ListRead,
  Migration,
  MigrationStep,
  NamespaceAnswer,
  NamespaceList,
  OpenBuckets,
  OperationCounts,
  PackedChanges,
  QueryAnswer,
  QueryExplanation,
  QueryPlan,
  Reference,
  SchemaList,
  SchemaVersion,
  SchemaViolation,
  SegmentRef,
  ServerTime,
  ShardStatus,
  SqlAnswer,
  SqlExplanation,
  SqlHead,
  SqlStreamHead,
  SqlVersions,
  StreamStart,
  Tail,
  Task,
  TaskAction,
  TaskList,
  WriteAnswer,
} from './messages.js'
export {
  bucketOfKey,
  checkId,
  checkName,
  idOfKey,
  isName,
  type Key,
  keyOfPath,
  type ObjectName,
  objectKey,
  type Path,
  parseBucketName,
  pathInBucket,
  pathOfKey,
} from './names.js'
export { createIdMaker, type IdSources, timeOfId } from './new-id.js'
export {
  type ForeignOperationId,
  formatOperationId,
  OPERATION_ID_BYTES_MAX,
  type OperationId,
  type OwnOperationId,
  parseOperationId,
} from './operations/operation-id.js'
export {
  type Coding,
  formatEtag,
  POSITION_HEADER,
  type Position,
  parseEtag,
  parsePosition,
  readPosition,
  type Version,
} from './positions.js'
export { fromProblem, PROBLEM_TYPE, type Problem, STATUS_OF_CODE, statusOf, toProblem } from './problem.js'
export { canonicalQuery, formatQuery } from './queries/canonical-query.js'
export { formatCursor, type Place, parseCursor, type SortValue } from './queries/cursor.js'
export { isWellFormed, objectionToField } from './queries/field-path.js'
export {
  INDEX_FIELDS_MAX,
  type IndexDeclaration,
  objectionToIndexes,
} from './queries/index-declaration.js'
export { checkQuery, parseQuery, type QueryParameters } from './queries/parse-query.js'
export {
  type Condition,
  type Filter,
  ID_FIELD,
  QUERY_LIMIT_DEFAULT,
  type Query,
  type Scalar,
  type Sort,
} from './queries/query.js'
export { partsOfTag, type Tag, type TagValue, tagOf } from './queries/tag.js'
export { repeatedMember } from './repeated-member.js'
export { versionsTag } from './sql-versions.js'
export { compareUtf8 } from './utf8-order.js'
