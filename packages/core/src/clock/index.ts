export { compareHybrid, HYBRID_ZERO, type HybridTime, receiveHybrid, tickHybrid } from './hybrid.js'
export { compareLamport, type LamportEvent, receiveLamport, tickLamport } from './lamport.js'
export {
  afterDrift,
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
  mergeVectors,
  receiveVector,
  tickVector,
  type VectorClock,
  type VectorOrder,
} from './vector.js'
