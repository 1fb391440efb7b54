export {
  type Cell,
  type CellRecord,
  type CellValue,
  claimed,
  copied,
  DISPUTED,
  EMPTY_RECORD,
  type Holding,
  merged,
  NO_COORDINATOR,
  released,
  renewed,
  type SeenBeat,
  wished,
  written,
} from './cell-record.js'
export {
  isEnough,
  neededAt,
  READ_LEVELS,
  type ReadLevel,
  WRITE_LEVELS,
  type WriteLevel,
} from './level.js'
export { compareStamps, laterStamp, NO_STAMP, type Stamp, showStamp, stampBeside, stampOf } from './stamp.js'
