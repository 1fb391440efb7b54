export { HistoryChecker, type HistoryCheckerOptions } from './history-checker.js'
export {
  type ClockSample,
  HistoryRecorder,
  type HistoryRecorderOptions,
  type RecordedRead,
  type RecordedWrite,
} from './history-recorder.js'
export type { HistorySummary, ServedFromCount } from './history-tally.js'
export type { Acknowledgement, KnownWrite } from './known-writes.js'
export {
  type HistoryRecord,
  parseRecord,
  type ReadRecord,
  type SessionRecord,
  type TokenRecord,
  type WriteRecord,
} from './record.js'
export { nameOfToken } from './recorded-name.js'
export type { Floor } from './session-floors.js'
export type { StalenessQuantiles } from './staleness-histogram.js'
export { formatViolation, PROMISES, type Promised, type Violation } from './violation.js'
