export { compareHybrid, HYBRID_ZERO, type HybridTime, receiveHybrid, tickHybrid } from './hybrid.js'
export { type LamportEvent, receiveLamport, tickLamport } from './lamport.js'
export {
  type CristianExchange,
  cristianOffset,
  errorOf,
  middleOf,
  type NtpExchange,
  ntpOffset,
  OffsetFilter,
  type OffsetRange,
  resynchroniseEvery,
} from './offset.js'
export { ServerClock } from './server-clock.js'
export {
  compareVectors,
  receiveVector,
  tickVector,
  type VectorClock,
  type VectorOrder,
} from './vector.js'
