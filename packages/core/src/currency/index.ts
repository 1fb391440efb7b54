export type { Effects } from './calls.js'
export type { ChordTables } from './chord.js'
export { slotOf } from './copies.js'
export { LastChanges, type LastChangesOptions, listOf } from './last-changes.js'
export type { Copy, Message, Roster } from './messages.js'
export {
  distance,
  type Peer,
  positionOfKey,
  positionOfPeer,
  RING_SIZE,
  type RingPosition,
  TIMESTAMP_FUNCTION,
} from './ring.js'
export { createRingPeerMemory, RingPeer, type RingPeerMemory, type RingPeerOptions } from './ring-peer.js'
export { compareTimestamps, NO_TIMESTAMP, type Timestamp } from './timestamp.js'
export type { InsertOutcome, RetrieveOutcome } from './updates.js'
