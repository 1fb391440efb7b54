export {
  type Pass,
  type PurgeBatch,
  type PurgeCursor,
  PurgeQueue,
  type PurgeQueueOptions,
  type PurgeStep,
  type StateChange,
} from './purge-queue.js'
export { EVERYTHING, isBucketPath, type PurgeTarget, tagOfPath } from './purge-targets.js'
