/** Opening a store over several nodes: connecting to them, founding the ring if it is new, looking at what could cost acknowledged writes. */
import { majorityOf } from '@freshet/core/agreement'
import { RETENTION_MS_DEFAULT } from '@freshet/core/counters'
import type { LogPlace, Store, StoreSupports } from '@freshet/core/store'
import { Engine } from '../../logged/engine.js'
import { LoggedStore } from '../../logged/logged-store.js'
import { Meetings } from '../../logged/meetings.js'
import { RedisClock } from '../../redis/redis-clock.js'
import { retrying } from '../../sql/retrying.js'
import { EngineLost } from '../../sql/sql-engine.js'
import { storeUnavailable } from '../../sql/sql-errors.js'
import { joinRing } from './founding.js'
import { nodeStates } from './node-states.js'
import { ReplicatedLog } from './replicated-log.js'
import { ReplicatedRegisters } from './replicated-registers.js'
import { ReplicatedRows } from './replicated-rows.js'
import { ringIdentity } from './ring-identity.js'
import { RingNode } from './ring-node.js'
import { RingUpkeep } from './ring-upkeep.js'

export interface RingStoreOptions {
  /** Three or five, best; the ring goes on without a minority of them. All servers name the same. */
  readonly nodes: readonly RingNodeAddress[]
  /** So long operations are remembered, and taken after they were made; a day unless given. */
  readonly retentionMs?: number
  /** So long what is asked of the store waits for a majority; 5,000 unless given. */
  readonly waitMsMax?: number
  /** So long one node is waited for; 1,000 unless given. */
  readonly answerMsMax?: number
  /** Is told what the nodes put at risk; a warning of the process unless given. */
  readonly onWarning?: (text: string) => void
  /** Where an earlier process knew the log to be: if the nodes were put back before that, the ring begins another log. */
  readonly recalled?: LogPlace | undefined
}

export interface RingNodeAddress {
  /** For messages: without a password. */
  readonly place: string
  /** A store of its own, for nothing else. Is called again if it throws. */
  open(): Promise<Store>
}

const WAIT_MS_MAX = 5_000
const ANSWER_MS_MAX = 1_000
const RECORD_BYTES_MAX = 64 * 1024 * 1024

/**
 * Throws STORE_UNAVAILABLE if there is no majority, or not every node when the ring is new; STORE_UNUSABLE if the nodes are not of one ring, or
 * so many have lost what they had that the others cannot know.
 */
export async function openRingStore(options: RingStoreOptions): Promise<Store> {
  const { retentionMs = RETENTION_MS_DEFAULT, onWarning = text => process.emitWarning(text) } = options
  const { waitMsMax = WAIT_MS_MAX, answerMsMax = ANSWER_MS_MAX } = options
  const nodes = options.nodes.map(address => new RingNode({ ...address, answerMsMax }))
  const place = `ring of ${nodes.map(node => node.place).join(', ')}`
  try {
    const majority = majorityOf(nodes.length)
    await joinRing(place, nodes, majority)
    const clock = new RedisClock()
    const log = new ReplicatedLog(nodes)
    const opened: { store?: LoggedStore; engine?: Engine } = {}
    const rows = new ReplicatedRows({ nodes, log, floor: () => opened.engine?.applied ?? -1 })
    const engine = await Engine.open({
      ...{ place, changeLog: log, rows, waitMsMax, recordBytesMax: RECORD_BYTES_MAX },
      recalled: options.recalled,
      identity: ringIdentity(nodes, majority),
      nowMs: () => clock.nowMs(),
      onRecord: ({ position, timeMs }) => {
        clock.isAtLeast(timeMs)
        opened.store?.hear(position)
      },
    })
    opened.engine = engine
    const registers = new ReplicatedRegisters(log)
    const meetings = new Meetings(registers, clock)
    await retrying({ place, waitMsMax }, () => meetings.begin(engine.state.timeMs))
    const upkeep = new RingUpkeep({ nodes, log, rows, engine, registers, onWarning })
    upkeep.inspect()
    const supports: StoreSupports = {
      durability: durabilityOf(nodes),
      multiKeyCommits: true,
      queries: false,
      retentionMs,
    }
    opened.store = new LoggedStore({
      ...{ kind: 'a ring', place, engine, clock, meetings, registers, supports, waitMsMax },
      nodes: () => nodeStates({ nodes, rows, engine }),
      async close() {
        await upkeep.close()
        await rows.close()
        await Promise.all(nodes.map(node => node.close()))
      },
    })
    return opened.store
  } catch (error) {
    await Promise.allSettled(nodes.map(node => node.close()))
    throw error instanceof EngineLost ? storeUnavailable(place, error, 'not-done') : error
  }
}

/** As weak as its weakest node: one that forgets what it has promised may let a majority decide twice. */
function durabilityOf(nodes: readonly RingNode[]): StoreSupports['durability'] {
  const found = nodes.map(({ durability }) => durability ?? 'disk')
  return found.includes('none') ? 'none' : found.includes('relaxed') ? 'relaxed' : 'disk'
}
