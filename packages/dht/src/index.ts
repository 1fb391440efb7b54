export type { Effects } from './peer/calls.js'
export type { ChordTables } from './peer/chord.js'
export { slotOf } from './peer/copies.js'
export type { Copy, Message, Roster } from './peer/messages.js'
export {
  distance,
  type Peer,
  positionOfKey,
  positionOfPeer,
  RING_SIZE,
  type RingPosition,
  TIMESTAMP_FUNCTION,
} from './peer/ring.js'
export { createRingPeerMemory, RingPeer, type RingPeerMemory, type RingPeerOptions } from './peer/ring-peer.js'
export { compareTimestamps, NO_TIMESTAMP, type Timestamp } from './peer/timestamp.js'
export type { InsertOutcome, RetrieveOutcome } from './peer/updates.js'
