export { CommitQueue } from './commit-queue.js'
export {
  type ChangedBefore,
  type Changes,
  type Database,
  type Head,
  type HeadOfLog,
  type LockedState,
  type Needs,
  NOTHING_INCOMING,
} from './database.js'
export { DatabaseEngine } from './database-engine.js'
export { IndexUpkeep, STEP_OBJECTS } from './index-upkeep.js'
