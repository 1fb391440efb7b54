export {
  AHEAD_MS_MAX,
  type ClientWindow,
  type DoneOperation,
  EMPTY_WINDOW,
  hasExpired,
  type Judgement,
  judgeDone,
  judgeOwn,
  type OperationRefusal,
  RETENTION_MS_DEFAULT,
  type RetentionOptions,
  rememberOwn,
  UNSETTLED_MAX,
} from './client-window.js'
export { type Added, type Addition, addTo, COUNTER_TYPE, type CounterRefusal } from './counter.js'
export { DECIMALS_MAX, formatUnits, parseUnits } from './decimal.js'
export {
  type ForeignOperation,
  hasForeignExpired,
  judgeOperation,
  type Operation,
  type OperationTables,
  type ReplayedCommit,
  recallOperation,
  rememberOperation,
  replayOf,
} from './operation-memory.js'
export { SeenIds, type SeenIdsOptions } from './seen-ids.js'
