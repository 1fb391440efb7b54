/**
 * Real peers over TCP in several processes. First the response time by number of peers, as in the paper's figure 6. Then 64 peers
 * with tenures: peers leave in good order, a process with eight peers is killed, the same eight come back without their memory,
 * and others join. Readers and writers continue meanwhile, and every answer is checked.
 *
 * UMS-Indirect reads after the counter was lost, as after the failure of a responsible: the counter is first initialised from the
 * replicas. Its DHT does not report lost keys. UMS-Direct votes, so that it is safe; the paper's does not.
 */
import { compareTimestamps, NO_TIMESTAMP, type Peer, type Timestamp } from '@freshet/dht'
import type { Experiment, ExperimentContext, ExperimentResult, Verdict } from '../../harness/experiment.js'
import type { Random } from '../../harness/random.js'
import { ProcessEnded, RingFleet } from '../../ring-processes/ring-fleet.js'
import type { SentOptions } from '../../ring-processes/ring-process.js'

const PEERS_EACH = 8
const ITEMS = { quick: 20, full: 60 }
const KEYS = 12
const WORKERS = 24
const LEAVING = 4

const OPTIONS: SentOptions = {
  ...{ replicas: 10, successorsMax: 8, tickMs: 1500, timeoutMs: 3000, handsCopiesOnLeave: true, inspectEveryTicks: 0 },
  ...{ waitMs: 0, graceMs: 5000, readsAtOnce: 1, isLossUnaware: false },
  ...{ copiesMin: 6, patience: 10, readsAhead: 0, versionsAtOnce: 1 },
}
const VOTING = { promiseMs: 1500, driftMax: 0.01 }

interface SpeedPoint {
  readonly peers: number
  readonly directMs: number
  readonly indirectMs: number
  readonly brkMs: number
  /** Per read of UMS-Direct. */
  readonly messages: number
}

interface Trial {
  readonly committed: number
  readonly notCommitted: number
  readonly reads: number
  readonly currentReads: number
  readonly wrong: readonly string[]
  readonly lateReads: number
  readonly lateCurrentReads: number
  readonly seconds: number
}

export const kts6: Experiment = {
  source: 'Akbarinia, Pacitti, Valduriez 2007, figure 6',
  run: async context => {
    const processes = context.quick ? [1, 2, 4] : [1, 2, 4, 8]
    const points: SpeedPoint[] = []
    for (const count of processes) {
      context.progress(points.length, processes.length + 1, `${count * PEERS_EACH} peers`)
      points.push(await speedOf(count, context))
    }
    context.progress(processes.length, processes.length + 1, 'leaving, crashing, joining')
    return toResult(points, await tryChanges(processes.at(-1)!, context))
  },
}

async function speedOf(processes: number, context: ExperimentContext): Promise<SpeedPoint> {
  const items = context.quick ? ITEMS.quick : ITEMS.full
  const direct = await RingFleet.start(processes, PEERS_EACH, { ...OPTIONS, voting: VOTING })
  const unaware = await RingFleet.start(processes, PEERS_EACH, { ...OPTIONS, isLossUnaware: true })
  try {
    // In turn, so that other load on the machine affects all alike.
    const sums = { direct: 0, indirect: 0, brk: 0, messages: 0 }
    for (let i = 0; i < items; i++) {
      const own = await timeRead(direct, `ums/${i}`, {}, context.random)
      sums.direct += own.ms
      sums.messages += own.messages
      sums.indirect += (await timeRead(unaware, `ums/${i}`, { isLost: true }, context.random)).ms
      sums.brk += (await timeRead(unaware, `brk/${i}`, { isBrk: true }, context.random)).ms
    }
    const peers = processes * PEERS_EACH
    const times = { directMs: sums.direct / items, indirectMs: sums.indirect / items, brkMs: sums.brk / items }
    return { peers, ...times, messages: sums.messages / items }
  } finally {
    direct.stop()
    unaware.stop()
  }
}

interface TimedRead {
  readonly ms: number
  readonly messages: number
}

async function timeRead(
  fleet: RingFleet,
  key: string,
  { isBrk = false, isLost = false }: { readonly isBrk?: boolean; readonly isLost?: boolean },
  random: Random,
): Promise<TimedRead> {
  await fleet.insert(random.pick(fleet.peers), key, 'value', isBrk)
  if (isLost) await fleet.forget(key)
  const peer = random.pick(fleet.peers)
  const startedMs = performance.now()
  const { messages } = await fleet.retrieve(peer, key, isBrk)
  return { ms: performance.now() - startedMs, messages }
}

/** Times are this process's: an answer came before a question that was sent after it. */
class TrialChecker {
  readonly #acknowledged = new Map<string, Timestamp>()
  readonly #given = new Map<string, unknown>()
  readonly wrong: string[] = []
  readonly counts = { committed: 0, notCommitted: 0, reads: 0, currentReads: 0, lateReads: 0, lateCurrentReads: 0 }

  floorOf(key: string): Timestamp {
    return this.#acknowledged.get(key) ?? NO_TIMESTAMP
  }

  wrote(key: string, value: unknown, stamp: Timestamp): void {
    const name = `${key} at ${stamp.tenure}.${stamp.count}`
    if (this.#given.has(name)) this.wrong.push(`${name} was issued twice`)
    this.#given.set(name, value)
    this.raise(key, stamp)
  }

  read(key: string, floor: Timestamp, stamp: Timestamp): void {
    if (compareTimestamps(stamp, floor) < 0) this.wrong.push(`${key}: an old value was reported as current`)
    this.raise(key, stamp)
  }

  raise(key: string, stamp: Timestamp): void {
    if (compareTimestamps(stamp, this.floorOf(key)) > 0) this.#acknowledged.set(key, stamp)
  }
}

async function tryChanges(processes: number, { random }: ExperimentContext): Promise<Trial> {
  const fleet = await RingFleet.start(processes, PEERS_EACH, { ...OPTIONS, voting: VOTING })
  const checker = new TrialChecker()
  const startedMs = performance.now()
  let isOver = false
  const workers = Array.from({ length: WORKERS }, (_, i) =>
    work(fleet, checker, random.fork(`worker ${i}`), () => isOver),
  )
  try {
    await change(fleet, random)
    isOver = true
    await Promise.all(workers)
    await readAll(fleet, checker, random)
    return { ...checker.counts, wrong: checker.wrong, seconds: (performance.now() - startedMs) / 1000 }
  } finally {
    isOver = true
    fleet.stop()
  }
}

async function change(fleet: RingFleet, random: Random): Promise<void> {
  for (let i = 0; i < LEAVING; i++) await fleet.leave(random.pick(fleet.peers))
  const lost = fleet.kill(random.pick(fleet.peers))
  for (const peer of lost) await fleet.removeMember(peer)
  await fleet.settle()
  await fleet.rejoin(lost)
  await fleet.settle()
  for (const peer of await fleet.addProcess(LEAVING)) await fleet.addMember(peer)
  await fleet.settle()
}

/** Writes and reads in turn, at peers that may be gone by the time of the request. */
async function work(fleet: RingFleet, checker: TrialChecker, random: Random, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const key = `key/${random.below(KEYS)}`
    try {
      if (random.float() < 0.5) await write(fleet, checker, random.pick(fleet.peers), key, random.uint32())
      else await read(fleet, checker, random.pick(fleet.peers), key, false)
    } catch (error) {
      if (!(error instanceof ProcessEnded)) throw error
    }
  }
}

async function write(fleet: RingFleet, checker: TrialChecker, peer: Peer, key: string, value: number): Promise<void> {
  const { state, stamp } = await fleet.insert(peer, key, value)
  if (state === 'committed') {
    checker.counts.committed++
    checker.wrote(key, value, stamp)
  } else checker.counts.notCommitted++
}

async function read(fleet: RingFleet, checker: TrialChecker, peer: Peer, key: string, isLate: boolean): Promise<void> {
  const floor = checker.floorOf(key)
  const { isCurrent, stamp } = await fleet.retrieve(peer, key)
  checker.counts[isLate ? 'lateReads' : 'reads']++
  if (!isCurrent) return
  checker.counts[isLate ? 'lateCurrentReads' : 'currentReads']++
  checker.read(key, floor, stamp)
}

async function readAll(fleet: RingFleet, checker: TrialChecker, random: Random): Promise<void> {
  for (let i = 0; i < KEYS; i++) await read(fleet, checker, random.pick(fleet.peers), `key/${i}`, true)
}

function toResult(points: readonly SpeedPoint[], trial: Trial): ExperimentResult {
  return {
    summary: { ...trial, factorDirect: points.at(-1)!.brkMs / points.at(-1)!.directMs },
    points,
    tables: [
      {
        title: 'Response time of a read, ms; the paper draws curves and prints no numbers',
        columns: ['peers', 'UMS-Direct', 'UMS-Indirect', 'BRK', 'BRK / Direct', 'messages, Direct'],
        rows: points.map(p => [p.peers, p.directMs, p.indirectMs, p.brkMs, p.brkMs / p.directMs, p.messages]),
      },
      {
        title: `${points.at(-1)!.peers} peers, of which 4 left; a process was killed, its peers came back, and 4 others joined`,
        columns: ['writes acknowledged', 'not acknowledged', 'reads', 'reported as current', 'wrong', 'seconds'],
        rows: [
          [trial.committed, trial.notCommitted, trial.reads, trial.currentReads, trial.wrong.length, trial.seconds],
        ],
      },
    ],
    plots: [
      {
        name: 'response-time',
        chart: {
          kind: 'lines',
          title: 'Response time by number of peers, over TCP',
          x: { name: 'peers', min: 0 },
          y: { name: 'response time, ms', min: 0 },
          series: [
            { name: 'UMS-Direct', style: 'marked', points: points.map(p => [p.peers, p.directMs]) },
            { name: 'UMS-Indirect', style: 'marked', points: points.map(p => [p.peers, p.indirectMs]) },
            { name: 'BRK', style: 'marked', points: points.map(p => [p.peers, p.brkMs]) },
          ],
        },
      },
    ],
    verdicts: [...shapeOf(points), ...promisesOf(trial)],
  }
}

function shapeOf(points: readonly SpeedPoint[]): Verdict[] {
  const [first, last] = [points[0]!, points.at(-1)!]
  const growth = last.messages / first.messages
  return [
    {
      claim: 'UMS-Direct reads are faster than BRK reads',
      holds: points.every(p => p.directMs < p.brkMs),
      detail: points.map(p => `${(p.brkMs / p.directMs).toFixed(1)} times at ${p.peers}`).join(', '),
    },
    {
      claim: 'the messages of a read grow with the logarithm of the number of peers',
      holds: growth < (1.5 * Math.log(last.peers)) / Math.log(first.peers),
      detail: `${first.messages.toFixed(1)} at ${first.peers}, ${last.messages.toFixed(1)} at ${last.peers}`,
    },
  ]
}

function promisesOf({ wrong, committed, currentReads, lateReads, lateCurrentReads }: Trial): Verdict[] {
  return [
    {
      claim: 'no timestamp was issued twice, and no read was falsely current',
      holds: wrong.length === 0 && committed > 0 && currentReads > 0,
      detail: wrong[0] ?? `${committed} acknowledged writes, ${currentReads} current reads`,
    },
    {
      claim: 'afterwards, every key is read as current',
      holds: lateCurrentReads === lateReads,
      detail: `${lateCurrentReads} of ${lateReads}`,
    },
  ]
}
