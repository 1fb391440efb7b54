export { type Ballot, majorityOf, NO_BALLOT } from './ballot.js'
export type { DecidedSlots, Voters } from './decided-slots.js'
export {
  type AcceptAsk,
  type Accepted,
  type Ask,
  type Entry,
  type NodeView,
  type Promised,
  type Reply,
  SLOTS_PER_READ,
} from './messages.js'
export { type AppendOutcome, Proposer, type ProposerOptions } from './proposer.js'
export { SlotReader, type SlotReaderOutcome, type Step } from './slot-reader.js'
