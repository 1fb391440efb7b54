export type { CellRead } from './coordinator/cell-reads.js'
export type { CellWritten } from './coordinator/cell-writes.js'
export { Cells, type WriteOptions } from './coordinator/cells.js'
export { type CellsFile, cellsOptionsOf, readCellsFile } from './coordinator/cells-file.js'
export { type CellsStatus, cellsStatus, type NodeStatus } from './coordinator/cells-status.js'
export {
  type ChangeOptions,
  type ChangeReport,
  joinCells,
  leaveCells,
  type MoveProgress,
} from './coordinator/change-layout.js'
export {
  type CollectOptions,
  type CollectProgress,
  type CollectReport,
  collectTombstones,
} from './coordinator/collect-tombstones.js'
export type { ListenOptions } from './coordinator/coordinator-line.js'
export type { TenureOptions } from './coordinator/key-tenures.js'
export { type CellsOptions, type NodeSource, openCells } from './coordinator/open-cells.js'
export type { OtherCoordinators } from './coordinator/other-coordinators.js'
export { type RepairOptions, type RepairProgress, type RepairReport, repair } from './coordinator/repair.js'
export type { CellEntry, CellPage, CellRange, ScanLevel } from './coordinator/scan-cells.js'
export type { Timing } from './coordinator/timing.js'
export type { CellsLayout, LayoutNode } from './layout/cells-layout.js'
export { createHttpNode, type HttpNodeOptions } from './nodes/http-node.js'
export type { Node, NodeEntry, NodePage, NodeRange, NodeValue, NodeWrite } from './nodes/node.js'
export { type NodeAccess, openNodeAt } from './nodes/open-node.js'
export { createStoreNode } from './nodes/store-node.js'
