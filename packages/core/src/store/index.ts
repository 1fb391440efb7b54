export { CHANGES_LIMIT_DEFAULT, checkCommit, checkLimit, checkPosition, scanLimit } from './check-arguments.js'
export { isBeyond, isWithin } from './scan-range.js'
export type {
  BucketChange,
  Commit,
  CommitResult,
  DeleteWrite,
  Key,
  LogEntry,
  MaybePromise,
  Position,
  PutWrite,
  ReadVersion,
  ScanPage,
  ScanRange,
  Snapshot,
  Store,
  StoredEntry,
  StoredValue,
  StoreSupports,
  Version,
  Write,
} from './store.js'
export { compareUtf8 } from './utf8-order.js'
