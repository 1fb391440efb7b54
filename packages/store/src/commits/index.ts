export { type BatchState, CommitBatch } from './commit-batch.js'
export { CommitGate } from './commit-gate.js'
export { readForeign, readWindow, spellForeign, spellWindow } from './operation-records.js'
export { UpkeepLoop } from './upkeep-loop.js'
