/**
 * Batches of 50 additions in one request, with ids and without, to the same server in turn: what it costs to count each
 * addition once. In the paper, it costs at most 10% over plain counters.
 *
 * The server is a separate process and flushes each batch to disk before it answers. A round is a number of batches in
 * sequence, as in the paper. Neighbouring rounds are compared, so that a slow spell of the machine hits both. The time that
 * clients take to build their requests is not counted.
 */
import { Agent, request } from 'node:http'
import { startSlowOrigin } from '../../caches/slow-origin.js'
import type { BoxesChart, FiveNumbers } from '../../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult } from '../../harness/experiment.js'
import { median } from '../../harness/side-by-side.js'
import { formatPercent } from '../../harness/table.js'

/** Many short rounds: the noise of a shared disk lasts seconds, so it cancels out between neighbours. */
const FULL = { rounds: 600, batches: 10 }
const QUICK = { rounds: 60, batches: 4 }
const BATCH = 50
const COUNTERS = 1000
const SLOWDOWN_MAX = 0.05
const PAPER_SLOWDOWN = 0.1
const IDS = ['none', 'own', 'foreign'] as const

type Ids = (typeof IDS)[number]
/** Milliseconds for each batch, by round. */
type Times = Record<Ids, number[]>

export const fbf15: Experiment = {
  source: 'Subramanyam, Gupta, Leslie, Wang 2015, figure 15',
  async run(context) {
    const origin = await startSlowOrigin({ settings: {}, lateShare: 0, lateMs: 0, durability: 'disk' })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    try {
      return toResult(await measure(context, origin.url, agent))
    } finally {
      agent.destroy()
      await origin.stop()
    }
  },
}

async function measure({ quick, random, progress }: ExperimentContext, url: string, agent: Agent): Promise<Times> {
  const { rounds, batches } = quick ? QUICK : FULL
  await send(`${url}/db/lab/counters`, 'PUT', '{"kind":"counter"}', agent)
  const { timeMs } = JSON.parse(await send(`${url}/time`, 'GET', '', agent)) as { timeMs: number }
  const madeAt = timeMs - performance.now()
  const times: Times = { none: [], own: [], foreign: [] }
  let made = 0
  const additions = (ids: Ids) =>
    Array.from({ length: BATCH }, () => {
      const sequence = ++made
      const addition = { id: `${random.below(COUNTERS)}`, add: 1 }
      if (ids === 'none') return addition
      // All earlier batches are settled: the client waits for each batch.
      const settled = sequence - 1 - ((sequence - 1) % BATCH)
      const own = `f1.client-of-the-lab.${sequence}.${settled}.${Math.floor(performance.now() + madeAt)}`
      return { ...addition, key: ids === 'own' ? own : `${random.uint32().toString(36)}-${sequence}` }
    })
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    for (const [turn, ids] of rotate(IDS, round).entries()) {
      progress(round * IDS.length + turn, (rounds + 1) * IDS.length, `ids: ${ids}`)
      const bodies = Array.from({ length: batches }, () => JSON.stringify({ additions: additions(ids) }))
      const startMs = performance.now()
      for (const body of bodies) check(await send(`${url}/db/lab/counters`, 'POST', body, agent))
      if (round > 0) times[ids].push((performance.now() - startMs) / batches)
    }
  }
  return times
}

function check(answer: string): void {
  if (answer.includes('"error"') || answer.includes('"replayed"'))
    throw new Error(`The server did not apply the whole batch. It answered: ${answer}`)
}

function send(url: string, method: string, body: string, agent: Agent): Promise<string> {
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent }, incoming => {
      let text = ''
      incoming.setEncoding('utf8').on('data', part => {
        text += part
      })
      incoming.once('error', reject)
      incoming.once('end', () => {
        if (incoming.statusCode! < 300) resolve(text)
        else reject(new Error(`${method} ${url} was answered ${incoming.statusCode}: ${text}`))
      })
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}

function toResult(times: Times): ExperimentResult {
  const slowdownOf = (ids: Ids) => median(times[ids].map((ms, round) => ms / times.none[round]!)) - 1
  const [slowdown, slowdownForeign] = [slowdownOf('own'), slowdownOf('foreign')]
  const row = (name: string, ids: Ids, cell: string) => [name, Number(median(times[ids]).toPrecision(3)), cell]
  return {
    summary: { slowdown, slowdownForeign, batch: BATCH },
    points: IDS.map(ids => ({ ids, ms: times[ids] })),
    tables: [
      {
        title: `A batch of ${BATCH} additions (the paper: at most ${formatPercent(PAPER_SLOWDOWN)} slower, about 2 ms)`,
        columns: ['ids', 'ms, median', 'slower'],
        rows: [
          row('none', 'none', ''),
          row("our clients'", 'own', formatPercent(slowdown)),
          row('foreign', 'foreign', formatPercent(slowdownForeign)),
        ],
      },
    ],
    plots: [{ name: 'batches', chart: toChart(times) }],
    verdicts: [
      {
        claim: `batches with ids are at most ${formatPercent(SLOWDOWN_MAX)} slower`,
        holds: slowdown <= SLOWDOWN_MAX,
        detail: `${formatPercent(slowdown)} with our clients' ids, ${formatPercent(slowdownForeign)} with foreign ones`,
      },
    ],
  }
}

function toChart(times: Times): BoxesChart {
  return {
    kind: 'boxes',
    title: `Batches of ${BATCH} additions, each on disk before the server answers`,
    subtitle: 'alternating rounds, one client, one server',
    y: { name: 'milliseconds for a batch', min: 0 },
    boxes: IDS.map(ids => ({ name: ids === 'none' ? 'no ids' : `${ids} ids`, numbers: fiveNumbers(times[ids]) })),
  }
}

function fiveNumbers(values: readonly number[]): FiveNumbers {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))]!
  return [at(0), at(0.25), at(0.5), at(0.75), at(1)]
}

function rotate<Item>(items: readonly Item[], by: number): Item[] {
  const start = by % items.length
  return [...items.slice(start), ...items.slice(0, start)]
}
