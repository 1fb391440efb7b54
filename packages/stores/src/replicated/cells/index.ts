export {
  type ChangeOptions,
  type ChangeReport,
  joinRing,
  leaveRing,
  type MoveProgress,
} from '../membership/change-ring.js'
export { type NodeAccess, openNodeAt } from '../ring/open-node.js'
export { cellsOptionsOf, type RingFile, readRingFile } from '../ring/ring-file.js'
export type { RingNode, RingState } from '../ring/ring-state.js'
export type { CellRead } from './cell-reads.js'
export type { CellWritten } from './cell-writes.js'
export { Cells, type WriteOptions } from './cells.js'
export {
  type CollectOptions,
  type CollectProgress,
  type CollectReport,
  collectTombstones,
} from './collect-tombstones.js'
export type { ListenOptions } from './coordinator-line.js'
export type { Elsewhere } from './elsewhere.js'
export { createHttpNode, type HttpNodeOptions } from './http-node.js'
export type { TenureOptions } from './key-tenures.js'
export type { Node, NodeEntry, NodePage, NodeRange, NodeValue, NodeWrite } from './node.js'
export { type CellsOptions, type NodeSource, openCells } from './open-cells.js'
export { type RepairOptions, type RepairProgress, type RepairReport, repair } from './repair.js'
export { type NodeStatus, type RingStatus, ringStatus } from './ring-status.js'
export type { CellEntry, CellPage, CellRange, ScanLevel } from './scan-cells.js'
export { createStoreNode } from './store-node.js'
export type { Timing } from './timing.js'
