export {
  AHEAD_MS_MAX,
  type ClientWindow,
  emptyWindow,
  hasExpired,
  type Judgement,
  RETENTION_MS_DEFAULT,
  type RetentionOptions,
  rememberOwn,
  UNSETTLED_MAX,
} from './client-window.js'
export { CompactIds, type CompactOptions, ID_HASH_BYTES } from './compact-ids.js'
export { type Added, addTo, COUNTER_TYPE } from './counter.js'
export { formatUnits, parseUnits } from './decimal.js'
export {
  type ForeignOperation,
  hasForeignExpired,
  judgeOperation,
  type OperationTables,
  type ReplayedCommit,
  rememberOperation,
  replayOf,
} from './operation-memory.js'
export { SeenIds, type SeenIdsOptions } from './seen-ids.js'
