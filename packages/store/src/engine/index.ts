export {
  type Attached,
  Attachment,
  type Found,
  isLost,
  judge,
  type Known,
  knownFrom,
  positionAfter,
  type Verdict,
} from './attachment.js'
export { CommitListeners } from './commit-listeners.js'
export type {
  AsyncView,
  Bound,
  BucketPage,
  Engine,
  EntriesRange,
  KeyedValue,
  KeyRange,
  LogBegin,
  LogPart,
  Subject,
  Values,
  View,
} from './engine.js'
export { CommitRefused, EngineBusy, EngineLost } from './engine-errors.js'
export { type RetryingOptions, retrying } from './retrying.js'
export { storeClosed, storeDamaged, storeFull, storeUnavailable, storeUnusable } from './store-errors.js'
export { UnderWay } from './under-way.js'
