export type { OperationCounts, QueryPlan } from '@freshet/protocol'
export { compareUtf8, isBeyond, isWithin } from '@freshet/protocol'
export { type ChangedKeys, changedLists } from './changed-lists.js'
export { CHANGES_LIMIT_DEFAULT, checkCommit, checkLimit, checkPosition, scanLimit } from './check-arguments.js'
export { COPIED_MEMORY } from './copied-memory.js'
export { declaredAt, indexesIn } from './declared-indexes.js'
export { positionAtTime } from './first-position.js'
export { Holders } from './holders.js'
export {
  type Addition,
  type CounterRefusal,
  DECIMALS_MAX,
  type DoneOperation,
  type Operation,
  type OperationRefusal,
} from './operations.js'
export type {
  BucketChange,
  Commit,
  CommitResult,
  DeleteWrite,
  GrantedLease,
  IndexDeclaration,
  IndexState,
  Key,
  LeaseAsk,
  LogEntry,
  LogPlace,
  MaybePromise,
  Position,
  PutWrite,
  Query,
  QueryPage,
  QueryVersion,
  ReadCount,
  ReadList,
  ReadVersion,
  ScanPage,
  ScanRange,
  Snapshot,
  Store,
  StoredEntry,
  StoredValue,
  StoreNode,
  StoreQuery,
  StoreSupports,
  Tag,
  Version,
  Write,
} from './store.js'
