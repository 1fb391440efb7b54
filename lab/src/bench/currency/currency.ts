/**
 * What it takes to read current data from three nodes, two of which are replicas that lag: how many nodes a read asks, and how
 * long it takes, compared with a majority (QUORUM) and with the primary alone; with all nodes near, and with a distant primary.
 *
 * A majority is only current if writers wait for a majority as well. Engines that replicate by themselves do not, unless they are
 * configured to. So QUORUM shows a cost here, and is stale as often as the table says.
 */
import { requirePostgres } from '../../engines/postgres.js'
import type { Bench, BenchContext, BenchResult } from '../../harness/bench.js'
import { type PreparedContender, startChild } from '../../harness/child-contender.js'
import { measureSideBySide, median, type Standing, speedRatio } from '../../harness/side-by-side.js'
import { type CurrencyEngine, type CurrencyKind, type CurrencySettings, KEYS } from './currency-target.js'
import type { CurrencyMeasure } from './currency-worker.js'
import { type Fleet, startCells, startPostgresFleet, startRedisFleet } from './fleets.js'

const FLEETS: readonly (readonly [CurrencyEngine, (seed: number) => Promise<Fleet>])[] = [
  ['PostgreSQL', startPostgresFleet],
  ['Redis', startRedisFleet],
  ['Cells', startCells],
]
const KINDS: readonly CurrencyKind[] = ['current', 'primary', 'current, get', 'primary, get', 'quorum']
const KINDS_OF_CELLS: readonly CurrencyKind[] = ['current', 'quorum']
const PLACES = ['near', 'far'] as const
const FULL = { rounds: 7, reads: { near: 500, far: 150 } }
const QUICK = { rounds: 3, reads: { near: 300, far: 80 } }
const NODES_MAX = 1.3
const SHARE_ASKED = 0.9

type Place = (typeof PLACES)[number]
type CurrencyStanding = Standing<CurrencyMeasure>

interface Measured {
  readonly engine: CurrencyEngine
  readonly standings: readonly CurrencyStanding[]
  /** The median of samples taken between the rounds. */
  readonly currentShare: number
}

export const currency: Bench = {
  async run(context) {
    requirePostgres()
    const measured: Measured[] = []
    for (const [engine, start] of FLEETS) {
      const fleet = await start(context.seed)
      try {
        measured.push(await measure(context, engine, fleet, measured.length))
      } finally {
        await fleet.stop()
      }
    }
    return report(measured)
  },
}

async function measure(
  { quick, seed, progress }: BenchContext,
  engine: CurrencyEngine,
  fleet: Fleet,
  turn: number,
): Promise<Measured> {
  const { rounds, reads } = quick ? QUICK : FULL
  const contenders: PreparedContender<null, CurrencyMeasure>[] = []
  const shares: number[] = []
  const sampling = new Set<Promise<unknown>>()
  try {
    for (const place of placesOf(engine)) {
      for (const kind of kindsOf(engine)) {
        const nodes = fleet[place]
        const settings: CurrencySettings = { engine, kind, nodes, truth: fleet.near[0]!, reads: reads[place], seed }
        const module = new URL('./contender-process.js', import.meta.url)
        contenders.push(await startChild<null, CurrencyMeasure>({ name: nameOf(kind, place), module, settings }))
      }
    }
    const onTurn = (done: number, total: number, name: string) => {
      progress(turn * total + done, FLEETS.length * total, `${engine}, ${name}`)
      sampling.add(fleet.currentShare().then(share => shares.push(share)))
    }
    const measures = ['read', 'nodes', 'current', 'stale'] as const
    const standings = await measureSideBySide<CurrencyMeasure>({ contenders, measures, rounds, onTurn })
    await Promise.all(sampling)
    return { engine, standings, currentShare: median(shares) }
  } finally {
    await Promise.all(contenders.map(contender => contender.stop()))
  }
}

function report(measured: readonly Measured[]): BenchResult {
  const summaries = Object.fromEntries(measured.map(each => [each.engine, summaryOf(each)]))
  return {
    summary: { keys: KEYS, ...summaries },
    tables: measured.flatMap(({ engine, standings }) =>
      placesOf(engine).map(place => tableOf(engine, place, standings)),
    ),
    notes: [
      ...measured.map(({ engine, currentShare }) => {
        const { near, far } = summaries[engine]!
        if (far === undefined) {
          return `Cells over three Redis servers: a read at CURRENT asked ${near.nodes} nodes (target: at most ${NODES_MAX}), and was ${near.toQuorum} times as fast as at QUORUM.`
        }
        return (
          `${engine}: ${rounded(currentShare)} of the copies on its replicas were current (target: about ${SHARE_ASKED}); a current read asked ` +
          `${near.nodes} nodes, ${far.nodes} with the primary far away (target: at most ${NODES_MAX}); QUORUM asks 2. Compared with the primary ` +
          `alone, it was ${near.toPrimary} times as fast, ${far.toPrimary} times with the primary far away.`
        )
      }),
      'Sequential reads of evenly drawn objects, while a tenth of the objects is written each second. near: all nodes on one machine. far: ten milliseconds round trip to the primary.',
      'current and primary: read as a server does, which first asks the primary for its position, once for all requests of a moment. get: both at once.',
    ],
  }
}

function tableOf(engine: CurrencyEngine, place: Place, standings: readonly CurrencyStanding[]) {
  return {
    title: `${engine === 'Cells' ? 'Cells over three Redis servers' : engine}, ${place === 'near' ? 'all nodes near' : 'primary far away'}`,
    columns: ['', 'ms per read', 'nodes asked', 'answers used', 'stale'],
    rows: kindsOf(engine).map(kind => {
      const { read, nodes, current } = standingOf(standings, kind, place).medians
      const believed = kind.startsWith('current') ? rounded(current) : ''
      return [kind, rounded(read / 1e6), rounded(nodes), believed, rounded(staleOf(standings, kind, place))]
    }),
  }
}

interface Summary {
  /** Nodes asked per current read. */
  readonly nodes: number
  readonly nodesOfGet?: number
  readonly toPrimary?: number
  readonly getToPrimary?: number
  readonly toQuorum: number
  readonly stale: number
  readonly staleOfQuorum: number
}

interface EngineSummary {
  readonly currentShare: number
  readonly near: Summary
  readonly far?: Summary
}

function summaryOf({ engine, standings, currentShare }: Measured): EngineSummary {
  const at = (place: Place) => placeSummary(engine, standings, place)
  return {
    currentShare: rounded(currentShare),
    near: at('near'),
    ...(placesOf(engine).includes('far') && { far: at('far') }),
  }
}

function placeSummary(engine: CurrencyEngine, standings: readonly CurrencyStanding[], place: Place): Summary {
  const ratio = (of: CurrencyKind, to: CurrencyKind) =>
    rounded(speedRatio(standings, nameOf(of, place), nameOf(to, place), 'read'))
  const nodesOf = (kind: CurrencyKind) => rounded(standingOf(standings, kind, place).medians.nodes)
  const stale = (kind: CurrencyKind) => rounded(staleOf(standings, kind, place))
  const staleOfQuorum = stale('quorum')
  if (engine === 'Cells') {
    return { nodes: nodesOf('current'), toQuorum: ratio('current', 'quorum'), stale: stale('current'), staleOfQuorum }
  }
  return {
    nodes: nodesOf('current'),
    nodesOfGet: nodesOf('current, get'),
    toPrimary: ratio('current', 'primary'),
    getToPrimary: ratio('current, get', 'primary, get'),
    toQuorum: ratio('current, get', 'quorum'),
    stale: stale('current') + stale('current, get'),
    staleOfQuorum,
  }
}

function placesOf(engine: CurrencyEngine): readonly Place[] {
  return engine === 'Cells' ? ['near'] : PLACES
}

function kindsOf(engine: CurrencyEngine): readonly CurrencyKind[] {
  return engine === 'Cells' ? KINDS_OF_CELLS : KINDS
}

function standingOf(standings: readonly CurrencyStanding[], kind: CurrencyKind, place: Place): CurrencyStanding {
  return standings.find(({ name }) => name === nameOf(kind, place))!
}

/** Over all rounds: a single stale read would be too many. */
function staleOf(standings: readonly CurrencyStanding[], kind: CurrencyKind, place: Place): number {
  const shares = standingOf(standings, kind, place).rounds.map(round => round?.stale ?? 0)
  return shares.reduce((sum, share) => sum + share, 0) / shares.length
}

function nameOf(kind: CurrencyKind, place: Place): string {
  return `${kind}, ${place}`
}

function rounded(value: number): number {
  return Number(value.toPrecision(3))
}
