/**
 * Real Cassandra, with loss and delay on the connections to it and clients that time out: its own counters, and ours over it.
 *
 * The paper has one counter and 500 increments, with its filter built into Cassandra 2.0, and without. Here it is Cassandra
 * 5.0, with three nodes and three copies. Its own counters are incremented through its driver, by clients that resend what was
 * not answered, and by clients that do not. Ours are incremented over HTTP, with an Idempotency-Key, through two servers over
 * the same Cassandra, and clients resend to the other server. All connections, from clients to nodes, from clients to servers
 * and from servers to nodes, delay, lose packets, are reset and fall silent. The time-outs are the paper's: 2 seconds for
 * clients, 5 seconds in Cassandra.
 */
import { type SlowOrigin, startSlowOrigin } from '../../caches/slow-origin.js'
import { connectToCounter, prepareCounters, readCounter } from '../../counter-load/cassandra-increments.js'
import { type Incrementer, type Increments, runIncrements } from '../../counter-load/increments.js'
import { connectToServed, createServedCounter, readServed } from '../../counter-load/served-increments.js'
import { type FarCassandra, startFarCassandra } from '../../engines/cassandra.js'
import type { BarsChart } from '../../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult } from '../../harness/experiment.js'
import type { Random } from '../../harness/random.js'
import { StopList } from '../../harness/start-in-order.js'
import { formatPercent } from '../../harness/table.js'
import { CONDITIONS_IDEAL, type Conditions } from '../../network/conditions.js'
import { type Link, startLink } from '../../network/link.js'

const FULL = { sizes: [500, 50_000], clients: 64 }
const QUICK = { sizes: [500, 2000], clients: 32 }
const SERVERS = 2
const TIMEOUT_MS = 2000
const PAPER_ERROR = 0.05
/** For what clients send and receive; each client has its own connection. */
const TO_CLIENTS: Partial<Conditions> = {
  delayMs: 5,
  jitterMs: 10,
  lossRate: 0.02,
  resetRate: 0.03,
  blackHoleRate: 0.005,
}
/** Between servers and nodes, where all clients share a few connections: a reset hits many at once. */
const TO_SERVERS: Partial<Conditions> = {
  delayMs: 1,
  jitterMs: 2,
  lossRate: 0.005,
  resetRate: 0.002,
  blackHoleRate: 0.0005,
}

const KINDS = ['vanilla, retrying', 'vanilla, not retrying', 'Freshet, retrying'] as const
type Kind = (typeof KINDS)[number]

interface Run extends Increments {
  readonly kind: Kind
  readonly value: number
  readonly error: number
}

export const fbf17: Experiment = {
  source: 'Subramanyam, Gupta, Leslie, Wang 2015, figure 17',
  async run(context) {
    return toResult(await measureAll(context))
  },
}

async function measureAll({ quick, random, progress }: ExperimentContext): Promise<Run[]> {
  const { sizes, clients } = quick ? QUICK : FULL
  const total = KINDS.length * sizes.reduce((sum, size) => sum + size, 0)
  const runs: Run[] = []
  let before = 0
  progress(0, total, 'starting three nodes of Cassandra')
  const far = await startFarCassandra(random.fork('lines'))
  try {
    await prepareCounters(far)
    for (const operations of sizes) {
      for (const kind of KINDS) {
        const onProgress = (done: number) => progress(before + done, total, `${operations} increments, ${kind}`)
        const name = `${kind.replaceAll(/\W+/g, '-')}-${operations}`
        const part = random.fork(name)
        const measure = kind.startsWith('Freshet') ? measureServed : measureVanilla
        runs.push(await measure(far, { kind, name, operations, clients, random: part, onProgress }))
        before += operations
      }
    }
    return runs
  } finally {
    await far.stop()
  }
}

interface Part {
  readonly kind: Kind
  readonly name: string
  readonly operations: number
  readonly clients: number
  readonly random: Random
  readonly onProgress: (done: number) => void
}

async function measureVanilla(far: FarCassandra, { kind, name, operations, clients, onProgress }: Part): Promise<Run> {
  const isRetrying = kind === 'vanilla, retrying'
  const connect = () => connectToCounter(far, name, TIMEOUT_MS)
  const load = { operations, clients, isRetrying, onProgress }
  const increments = await runIncrements({
    ...load,
    connect,
    ...whileBad(conditions => far.change(conditions), TO_CLIENTS),
  })
  return toRun(kind, increments, await readCounter(far, name))
}

async function measureServed(
  far: FarCassandra,
  { kind, name, operations, clients, random, onProgress }: Part,
): Promise<Run> {
  const store = `cassandra://${far.hosts.join(',')}:${far.port}/lab?replication=${far.hosts.length}`
  const stops = new StopList()
  try {
    const servers: SlowOrigin[] = []
    const links: Link[] = []
    for (let i = 0; i < SERVERS; i++) {
      servers.push(stops.add(await startSlowOrigin({ settings: {}, lateShare: 0, lateMs: 0, store })))
      links.push(stops.add(await startLink({ target: servers[i]!.url, seed: random.uint32() })))
    }
    await createServedCounter(servers[0]!.url)
    const urls = links.map(({ url }) => url)
    const connect = async (client: number): Promise<Incrementer> => connectToServed(urls, name, client, TIMEOUT_MS)
    const bad = whileBad(conditions => {
      for (const link of links) link.change(conditions)
      far.change(conditions === CONDITIONS_IDEAL ? conditions : TO_SERVERS)
    }, TO_CLIENTS)
    const load = { operations, clients, isRetrying: true, onProgress }
    const increments = await runIncrements({ ...load, connect, ...bad })
    return toRun(kind, increments, await readServed(servers[1]!.url, name))
  } finally {
    await stops.stopAll()
  }
}

/** The network is good while clients connect, and when the result is read. */
function whileBad(
  change: (conditions: Partial<Conditions>) => void,
  conditions: Partial<Conditions>,
): { readonly onBegin: () => void; readonly onEnd: () => void } {
  return { onBegin: () => change(conditions), onEnd: () => change(CONDITIONS_IDEAL) }
}

function toRun(kind: Kind, increments: Increments, value: number): Run {
  return { kind, ...increments, value, error: Math.abs(value - increments.operations) / increments.operations }
}

function toResult(runs: readonly Run[]): ExperimentResult {
  const of = (kind: Kind) => runs.filter(run => run.kind === kind)
  const [retrying, single, ours] = [of(KINDS[0]), of(KINDS[1]), of(KINDS[2])]
  const error = Math.max(...ours.map(run => run.error))
  const errorWithout = Math.max(...retrying.map(run => run.error))
  return {
    summary: {
      operations: ours.reduce((sum, run) => sum + run.operations, 0),
      error,
      errorWithout,
      errorWithoutRetrying: Math.max(...single.map(run => run.error)),
    },
    points: runs,
    tables: [
      {
        title: 'Three nodes, three copies, a bad connection (the paper: its filter 0% wrong, vanilla 5%)',
        columns: ['counter', 'increments', 'unanswered', 'replays', 'value', 'error', 'seconds'],
        rows: runs.map(run => [
          ...[run.kind, run.operations, run.unanswered, run.replays, run.value],
          ...[formatPercent(run.error), Math.round(run.seconds)],
        ]),
      },
    ],
    plots: [{ name: 'error-by-increments', chart: toChart(retrying, single, ours) }],
    verdicts: [
      {
        claim: 'with ids over Cassandra, every increment counts once, however often and to whichever server it is sent',
        holds: ours.every(run => run.error === 0 && run.replays > 0),
        detail: ours
          .map(run => `${run.value} of ${run.operations}, ${run.replays} sent again after they had been applied`)
          .join('; '),
      },
      {
        claim: "Cassandra's own counters are wrong if clients retry",
        holds: retrying.every(run => run.value > run.operations),
        detail: retrying.map(run => `${run.value} of ${run.operations} (${formatPercent(run.error)})`).join('; '),
      },
      {
        claim: "Cassandra's own counters are wrong if clients do not retry",
        holds: single.every(run => run.value < run.operations),
        detail: single.map(run => `${run.value} of ${run.operations} (${formatPercent(run.error)})`).join('; '),
      },
    ],
  }
}

function toChart(retrying: readonly Run[], single: readonly Run[], ours: readonly Run[]): BarsChart {
  const errors = (runs: readonly Run[]) => runs.map(run => run.error)
  return {
    kind: 'bars',
    title: 'Error of counters in Cassandra over a bad connection',
    subtitle: `time-outs of ${TIMEOUT_MS / 1000} s; three nodes, three copies`,
    y: { name: 'error', percent: true, min: 0 },
    categories: ours.map(run => `${run.operations} increments`),
    series: [
      { name: KINDS[0], values: errors(retrying) },
      { name: KINDS[1], values: errors(single) },
      { name: KINDS[2], values: errors(ours) },
    ],
    references: [{ name: 'the paper, vanilla', at: PAPER_ERROR }],
  }
}
