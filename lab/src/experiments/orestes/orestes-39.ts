/**
 * Section 3.9 of the thesis: 12 clients, 6 of them through a cache, run one transaction each over 10 objects, with 6 reads and
 * 2 writes. Outdated copies from a cache make classic transactions abort. In coherent ones, which fetch the filter when they
 * begin, none aborts. Both are transactions of the client (`db.begin`) that only read differently.
 *
 * As in the thesis, transactions run one after another, so that every abort is from staleness. In addition, three run at a
 * time: that adds true conflicts, which no filter can prevent, and the two causes are counted separately.
 *
 * Each round has its own objects, which no cache has seen. Processes and time are real: the seed repeats which client does
 * what. With one transaction after another that determines the result; with three at a time, races affect it.
 */
import { connect, type Database, type ReadMode } from '@freshet/client'
import type { RunningCache } from '../../caches/cache-process.js'
import { withCaches } from '../../caches/require-caches.js'
import { type SlowOrigin, startSlowOrigin } from '../../caches/slow-origin.js'
import { startSquid } from '../../caches/squid.js'
import { startVarnish } from '../../caches/varnish.js'
import { RecordedHistory } from '../../coherence-load/recorded-history.js'
import type { Experiment, ExperimentContext, ExperimentResult, Verdict } from '../../harness/experiment.js'
import type { Random } from '../../harness/random.js'
import { meanOf, rounded, sumOf } from './figures.js'
import { beginJudged } from './judged-transaction.js'

const OBJECTS = 10
const READS = 6
const WRITES = 2
const CLIENTS_EACH = 6
const THESIS_ABORTS = { min: 3, max: 6 }
const LANES = 3
const ROUNDS = { full: 100, quick: 5 }
/** Nothing expires during a run. The client fetches the filter at the beginning of a transaction, and not again during it. */
const LIFETIME_MS = 600_000
const STALENESS_MS = 60_000

const CACHES = ['Varnish', 'Squid'] as const
const ORDERS = ['one by one', 'three at a time'] as const
const WAYS = ['without', 'with'] as const

interface Part {
  readonly cache: (typeof CACHES)[number]
  readonly order: (typeof ORDERS)[number]
  /** With or without the filter. */
  readonly way: (typeof WAYS)[number]
}

interface Round {
  readonly transactions: number
  /** Aborts from staleness, and from true conflicts. */
  readonly stale: number
  readonly conflicts: number
  readonly staleReads: number
  readonly ms: number
}

type PartResult = Part & { readonly rounds: readonly Round[] }

interface Game {
  readonly number: number
  readonly score: number
}

export const orestes39: Experiment = {
  source: 'Gessert and Bücklers 2012, section 3.9',
  run: withCaches(['varnish', 'squid'], async context => toResult(await measureAll(context))),
}

async function measureAll(context: ExperimentContext): Promise<PartResult[]> {
  const rounds = context.quick ? ROUNDS.quick : ROUNDS.full
  const results: PartResult[] = []
  const total = CACHES.length * ORDERS.length * WAYS.length * rounds
  for (const cache of CACHES) {
    await withSite(cache, async (origin, near) => {
      for (const order of ORDERS) {
        for (const way of WAYS) {
          const part = { cache, order, way }
          const before = results.length * rounds
          const onRound = (done: number) => context.progress(before + done, total, `${cache}, ${order}, ${way}`)
          // The same rounds with and without the filter.
          const random = context.random.fork(`${cache} ${order}`)
          results.push({ ...part, rounds: await runRounds({ part, origin, near, random, rounds, onRound }) })
        }
      }
    })
  }
  return results
}

async function withSite(
  name: Part['cache'],
  act: (origin: SlowOrigin, near: RunningCache) => Promise<void>,
): Promise<void> {
  const origin = await startSlowOrigin({ settings: { lifetimeMs: LIFETIME_MS }, lateShare: 0, lateMs: 0 })
  try {
    const start = name === 'Varnish' ? startVarnish : startSquid
    const near = await start({ origin: origin.url })
    try {
      await act(origin, near)
    } finally {
      await near.stop()
    }
  } finally {
    await origin.stop()
  }
}

interface RoundsOptions {
  readonly part: Part
  readonly origin: SlowOrigin
  readonly near: RunningCache
  readonly random: Random
  readonly rounds: number
  readonly onRound: (done: number) => void
}

async function runRounds({ part, origin, near, random, rounds, onRound }: RoundsOptions): Promise<Round[]> {
  const options = { memoryBytesMax: 0, staleness: STALENESS_MS }
  const isWith = part.way === 'with'
  const far = await Promise.all(Array.from({ length: CLIENTS_EACH }, () => connect(origin.url, options)))
  const cached = await Promise.all(Array.from({ length: CLIENTS_EACH }, () => connect(near.url, options)))
  const clients: Client[] = [
    ...far.map(db => ({ db, read: 'any' as const, hasFilter: false })),
    ...cached.map(db => ({ db, read: isWith ? ('session' as const) : ('any' as const), hasFilter: isWith })),
  ]
  const results: Round[] = []
  for (let i = 0; i < rounds; i++) {
    const bucket = `orestes/${part.order.replaceAll(' ', '-')}-${part.way}-${i}`
    results.push(await new RoundOfClients(bucket, clients, random.fork(`${i}`)).run(part.order))
    onRound(i + 1)
  }
  for (const { db } of clients) db.close()
  return results
}

interface Client {
  readonly db: Database
  readonly read: ReadMode
  readonly hasFilter: boolean
}

class RoundOfClients {
  readonly #bucket: string
  readonly #clients: readonly Client[]
  readonly #random: Random
  readonly #history = new RecordedHistory()
  readonly #ids = Array.from({ length: OBJECTS }, (_, i) => `game${i}`)
  readonly #found = { transactions: 0, stale: 0, conflicts: 0, staleReads: 0 }

  constructor(bucket: string, clients: readonly Client[], random: Random) {
    this.#bucket = bucket
    this.#clients = clients
    this.#random = random
  }

  async run(order: Part['order']): Promise<Round> {
    await this.#fill()
    const beganMs = performance.now()
    const turns = this.#random.shuffle(this.#clients).map((client, i) => () => this.#transact(client, i + 1))
    const lane = async () => {
      for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) await turn()
    }
    await Promise.all(Array.from({ length: order === 'one by one' ? 1 : LANES }, lane))
    return { ...this.#found, ms: performance.now() - beganMs }
  }

  async #fill(): Promise<void> {
    const bucket = this.#bucket
    const parts = this.#ids.map(id => ({ bucket, id, value: { number: 0, score: 0 } satisfies Game }))
    const { position } = await this.#clients[0]!.db.commit(parts)
    for (const id of this.#ids) this.#history.acknowledgePut(id, position, 0, performance.now())
  }

  /** Each write is to an object that the transaction read before, as in the thesis. */
  async #transact({ db, read, hasFilter }: Client, number: number): Promise<void> {
    const beganMs = performance.now()
    const chosen = this.#random
      .fork(`transaction ${number}`)
      .shuffle(this.#ids)
      .slice(0, READS + WRITES)
    if (hasFilter) await db.session.refresh()
    const options = { db, bucket: this.#bucket, read, history: this.#history, beganMs }
    const transaction = await beginJudged<Game>(options)
    for (const [i, id] of chosen.entries()) {
      const game = await transaction.read(id)
      if (i >= READS) transaction.write(id, { number, score: (game?.score ?? 0) + 1 })
    }
    const outcome = await transaction.commit()
    this.#found.transactions++
    if (outcome === 'stale') this.#found.stale++
    if (outcome === 'conflict') this.#found.conflicts++
    this.#found.staleReads += transaction.staleReads
  }
}

function toResult(results: readonly PartResult[]): ExperimentResult {
  const columns = [
    ...['through', 'transactions', 'filter', 'rounds', 'aborts a round', 'least', 'most', 'thesis'],
    ...['from staleness', 'true conflicts', 'stale reads', 'ms a round'],
  ]
  const rows = results.map(({ cache, order, way, rounds }) => {
    const aborts = rounds.map(abortsOf)
    return [
      ...[cache, order, way, rounds.length],
      ...[rounded(meanOf(aborts), 2), Math.min(...aborts), Math.max(...aborts), thesisOf({ cache, order, way })],
      ...[sumOf(rounds.map(({ stale }) => stale)), sumOf(rounds.map(({ conflicts }) => conflicts))],
      ...[sumOf(rounds.map(({ staleReads }) => staleReads)), Math.round(meanOf(rounds.map(({ ms }) => ms)))],
    ]
  })
  return {
    summary: {
      staleAbortsWith: sumOf(select(results, { way: 'with' }).map(({ stale }) => stale)),
      abortsARoundWithout: meanOf(select(results, { way: 'without', order: 'one by one' }).map(abortsOf)),
    },
    points: results.map(({ rounds, ...part }) => ({ ...part, aborts: rounds.map(abortsOf) })),
    tables: [{ title: '12 transactions a round: 6 clients through the cache, 6 direct; 10 objects', columns, rows }],
    plots: [{ name: 'aborts', chart: abortsChart(results) }],
    verdicts: verdictsOf(results),
  }
}

function thesisOf({ cache, order, way }: Part): string | undefined {
  if (cache !== 'Varnish' || order !== 'one by one') return undefined
  return way === 'with' ? '0' : `${THESIS_ABORTS.min} to ${THESIS_ABORTS.max}`
}

function abortsOf({ stale, conflicts }: Round): number {
  return stale + conflicts
}

function select(results: readonly PartResult[], wanted: Partial<Part>): Round[] {
  return results
    .filter(({ order, way }) => (wanted.order ?? order) === order && (wanted.way ?? way) === way)
    .flatMap(({ rounds }) => rounds)
}

function abortsChart(results: readonly PartResult[]): ExperimentResult['plots'][number]['chart'] {
  const of = (way: Part['way'], figure: (round: Round) => number) =>
    CACHES.flatMap(cache =>
      ORDERS.map(order => {
        const found = results.find(each => each.cache === cache && each.order === order && each.way === way)
        return meanOf(found!.rounds.map(figure))
      }),
    )
  return {
    kind: 'bars',
    title: 'Aborted transactions per round of 12',
    subtitle: 'thesis, Varnish, one by one: 3 to 6 without the filter, 0 with it',
    y: { name: 'aborts a round', min: 0 },
    categories: CACHES.flatMap(cache => ORDERS.map(order => `${cache}, ${order}`)),
    series: [
      { name: 'without the filter, from staleness', values: of('without', ({ stale }) => stale) },
      { name: 'without the filter, true conflicts', values: of('without', ({ conflicts }) => conflicts) },
      { name: 'with the filter, from staleness', values: of('with', ({ stale }) => stale) },
      { name: 'with the filter, true conflicts', values: of('with', ({ conflicts }) => conflicts) },
    ],
  }
}

function verdictsOf(results: readonly PartResult[]): Verdict[] {
  const plain = select(results, { way: 'without', order: 'one by one' }).map(abortsOf)
  const filtered = select(results, { way: 'with' })
  const inTurn = select(results, { way: 'with', order: 'one by one' })
  const transactions = (rounds: readonly Round[]) => sumOf(rounds.map(each => each.transactions))
  const stale = sumOf(filtered.map(round => round.stale))
  const staleReads = sumOf(filtered.map(round => round.staleReads))
  return [
    {
      claim: 'without the filter, a round has as many aborts as in the thesis, 3 to 6 on average',
      holds: meanOf(plain) >= THESIS_ABORTS.min && meanOf(plain) <= THESIS_ABORTS.max,
      detail: `${rounded(meanOf(plain), 2)} on average over ${plain.length} rounds, ${Math.min(...plain)} to ${Math.max(...plain)}`,
    },
    {
      claim: 'with the filter, no transaction reads a copy outdated at its beginning, and none aborts from staleness',
      holds: stale === 0 && staleReads === 0,
      detail: `${stale} aborts and ${staleReads} stale reads in ${transactions(filtered)} transactions`,
    },
    {
      claim: 'with the filter and one transaction after another, all transactions commit',
      holds: inTurn.every(round => abortsOf(round) === 0),
      detail: `${sumOf(inTurn.map(abortsOf))} aborts in ${transactions(inTurn)} transactions`,
    },
  ]
}
