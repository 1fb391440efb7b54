/** Opening a store over several nodes: connecting to them, founding the quorum if it is new, looking at what could cost acknowledged writes. */
import { majorityOf } from '@freshet/core/agreement'
import { RETENTION_MS_DEFAULT } from '@freshet/core/counters'
import { SCAN_MAX_DEFAULT } from '@freshet/core/queries'
import type { LogPlace, Store, StoreSupports } from '@freshet/core/store'
import { EngineStore } from '@freshet/store'
import { SharedClock } from '@freshet/store/clock'
import { EngineLost, retrying, storeUnavailable } from '@freshet/store/engine'
import { ClockMeetings } from '../log/clock-meetings.js'
import { LogDatabase } from '../log/log-database.js'
import { LogEngine } from '../log/log-engine.js'
import { joinRing } from './founding.js'
import { nodeStates } from './node-states.js'
import { quorumIdentity } from './quorum-identity.js'
import { QuorumNode } from './quorum-node.js'
import { QuorumUpkeep } from './quorum-upkeep.js'
import { ReplicatedLog } from './replicated-log.js'
import { ReplicatedRegisters } from './replicated-registers.js'
import { ReplicatedRows } from './replicated-rows.js'

export interface QuorumStoreOptions {
  /** Three or five, best; the quorum goes on without a minority of them. All servers name the same. */
  readonly nodes: readonly QuorumNodeAddress[]
  /** How many entries a query may look at for one page; 10,000 unless given. */
  readonly scanMax?: number
  /** How long operations are remembered, and accepted after they were made; a day unless given. */
  readonly retentionMs?: number
  /** How long the store waits for a majority; 5,000 unless given. */
  readonly waitMsMax?: number
  /** How long the store waits for one node; 1,000 unless given. */
  readonly answerMsMax?: number
  /** Called with what the nodes put at risk; a warning of the process unless given. */
  readonly onWarning?: (text: string) => void
  /** Where an earlier process knew the log to be: if the nodes were put back before that, the quorum begins another log. */
  readonly recalled?: LogPlace | undefined
}

export interface QuorumNodeAddress {
  /** For messages: without a password. */
  readonly place: string
  /** A store of its own, for nothing else. Is called again if it throws. */
  open(): Promise<Store>
}

const WAIT_MS_MAX = 5_000
const ANSWER_MS_MAX = 1_000
const RECORD_BYTES_MAX = 64 * 1024 * 1024

/**
 * Throws STORE_UNAVAILABLE if there is no majority, or not every node when the quorum is new; STORE_UNUSABLE if the nodes are not of one quorum, or
 * so many have lost what they had that the others cannot know.
 */
export async function openQuorumStore(options: QuorumStoreOptions): Promise<EngineStore<LogEngine>> {
  const { scanMax = SCAN_MAX_DEFAULT } = options
  const { retentionMs = RETENTION_MS_DEFAULT, onWarning = text => process.emitWarning(text) } = options
  const { waitMsMax = WAIT_MS_MAX, answerMsMax = ANSWER_MS_MAX } = options
  const nodes = options.nodes.map(address => new QuorumNode({ ...address, answerMsMax }))
  const place = `ring of ${nodes.map(node => node.place).join(', ')}`
  try {
    const majority = majorityOf(nodes.length)
    await joinRing(place, nodes, majority)
    const clock = new SharedClock()
    const log = new ReplicatedLog(nodes)
    const opened: { engine?: LogEngine; database?: LogDatabase } = {}
    const rows = new ReplicatedRows({ nodes, log, floor: () => opened.database?.applied ?? -1 })
    const database = await LogDatabase.open({
      ...{ place, changeLog: log, rows, waitMsMax, recordBytesMax: RECORD_BYTES_MAX },
      recalled: options.recalled,
      identity: quorumIdentity(nodes, majority),
      nowMs: () => clock.nowMs(),
      onRecord: ({ position, timeMs }) => {
        clock.isAtLeast(timeMs)
        opened.engine?.hear(position)
      },
    })
    opened.database = database
    const registers = new ReplicatedRegisters(log)
    const meetings = new ClockMeetings(registers, clock)
    await retrying({ place, waitMsMax }, () => meetings.begin(database.state.timeMs))
    const upkeep = new QuorumUpkeep({ nodes, log, rows, database, registers, onWarning })
    upkeep.inspect()
    const supports: StoreSupports = {
      durability: durabilityOf(nodes),
      retentionMs,
    }
    opened.engine = new LogEngine({
      ...{ kind: 'a ring', database, clock, meetings, registers, supports, waitMsMax },
      nodes: () => nodeStates({ nodes, rows, database }),
      async close() {
        await upkeep.close()
        await rows.close()
        await Promise.all(nodes.map(node => node.close()))
      },
    })
    return new EngineStore({ engine: opened.engine, scanMax })
  } catch (error) {
    await Promise.allSettled(nodes.map(node => node.close()))
    throw error instanceof EngineLost ? storeUnavailable(place, error, 'not-done') : error
  }
}

/** As weak as its weakest node: one that forgets what it has promised may let a majority decide twice. */
function durabilityOf(nodes: readonly QuorumNode[]): StoreSupports['durability'] {
  const found = nodes.map(({ durability }) => durability ?? 'disk')
  return found.includes('none') ? 'none' : found.includes('relaxed') ? 'relaxed' : 'disk'
}
