export { type Ballot, compareBallots, majorityOf, NO_BALLOT } from './ballot.js'
export { type DecidedSlots, decidedSlots, type Voters } from './decided-slots.js'
export { Look, type LookOutcome, type Step } from './look.js'
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
