/** Opens a store over several nodes: connects to them, founds a new quorum, and warns of what could lose acknowledged writes. */
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
  /** Three or five, preferably; the quorum goes on without a minority of them. All servers name the same nodes. */
  readonly nodes: readonly QuorumNodeAddress[]
  /** How many entries a query may read for one page; 10,000 unless given. */
  readonly scanMax?: number
  /** How long operations are remembered, and how old an operation may be when it arrives; a day unless given. */
  readonly retentionMs?: number
  /** How long the store waits for a majority; 5,000 unless given. */
  readonly waitMsMax?: number
  /** How long the store waits for one node; 1,000 unless given. */
  readonly answerMsMax?: number
  /** Called with each risk that the nodes bring; unless given, it becomes a warning of the process. */
  readonly onWarning?: (text: string) => void
  /**
   * The log and position that an earlier process knew. If the nodes were restored to before that, the quorum begins another
   * log.
   */
  readonly recalled?: LogPlace | undefined
}

export interface QuorumNodeAddress {
  /** For messages: the address without a password. */
  readonly place: string
  /** Opens a store that is used for nothing else. It is called again if it throws. */
  open(): Promise<Store>
}

const WAIT_MS_MAX = 5_000
const ANSWER_MS_MAX = 1_000
const RECORD_BYTES_MAX = 64 * 1024 * 1024

/**
 * Throws STORE_UNAVAILABLE if there is no majority, or if a node is missing while the quorum is founded; STORE_UNUSABLE if the
 * nodes are not of one quorum, or if so large a part of them has lost its data that the others cannot know what was decided.
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

/** As weak as that of the weakest node: a node that forgets what it has promised may let a majority decide twice. */
function durabilityOf(nodes: readonly QuorumNode[]): StoreSupports['durability'] {
  const found = nodes.map(({ durability }) => durability ?? 'disk')
  return found.includes('none') ? 'none' : found.includes('relaxed') ? 'relaxed' : 'disk'
}
