export type { Catalog, Column } from './catalog.js'
export type { Cell, CellType } from './final-expression.js'
export type { ParameterValue } from './locality.js'
export { type Merge, type MergedRows, mergeRows, type ShardRows } from './merge-rows.js'
export { moveOf, type SplitWish, type Stretch, stretchLeft } from './plan-move.js'
export { type PlanOptions, planQuery, type QueryPlan, type ShardPart } from './plan-query.js'
export { globalRefused, sqlInvalid, sqlRefused } from './refusals.js'
export { Printer, quoteName, type Statement } from './render-sql.js'
export { RowMerger, type StreamedMerge, streamedMerge } from './row-merger.js'
export type {
  Appended,
  AppendOptions,
  CopyRequest,
  CursorOptions,
  GlobalLog,
  GlobalWrite,
  LogChanges,
  Move,
  MovePart,
  Shard,
  ShardAnswer,
  ShardCopy,
  ShardCursor,
  ShardRead,
  ShardSnapshot,
  ShardState,
  SnapshotRequest,
  TableRows,
} from './shard.js'
export {
  type Dialect,
  type KeyRange,
  type PlacedShard,
  type Placement,
  placedMap,
  placedShards,
  rangeOfShard,
  type ShardMap,
  shardKeyOf,
  shardsOf,
} from './shard-map.js'
export {
  type Aggregate,
  type Arithmetic,
  type CastType,
  type Comparison,
  childrenOf,
  type Expression,
  type From,
  type Select,
  type SelectItem,
  type Sorting,
  type Star,
  type ValueType,
} from './sql-tree.js'
export {
  changedTables,
  type FilledColumn,
  type ForeignKey,
  isSameColumn,
  type TableChange,
  type TableEffects,
  type Trigger,
} from './table-effects.js'
export { judgeMatrix, SCHEMA_ASPECT, type ShardVersions, type Verdict, type Versions } from './version-matrix.js'
