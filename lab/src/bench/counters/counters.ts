/**
 * Additions that count exactly once: in the store, compared with the same commits without ids; on one counter that all clients
 * share, compared with one commit and one flush each; and over the network, compared with Redis and a script that does the same.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRedisInstalled } from '../../engines/redis.js'
import type { Bench, BenchContext, BenchResult } from '../../harness/bench.js'
import { type PreparedContender, startChild } from '../../harness/child-contender.js'
import { measureSideBySide, median, type Standing, speedRatio } from '../../harness/side-by-side.js'
import { inTemporaryFolder } from '../../harness/temporary-folder.js'
import { type CountersSettings, FOREIGN_IDS, type Measure, NO_IDS, OWN_IDS } from './counters-worker.js'
import { FRESHET, type NetworkContender, REDIS, startFreshetContender, startRedisContender } from './over-network.js'

const CLIENTS = 256
const COUNTERS = 1000
const MEASURES: readonly Measure[] = ['spread', 'processor', 'hot', 'alone']
/** Many short rounds: the noise of a shared disk lasts seconds, so it cancels out between neighbours. */
const FULL = { rounds: 31, additions: 10_000, alone: 100, network: { rounds: 11, additions: 20_000 } }
const QUICK = { rounds: 5, additions: 4000, alone: 30, network: { rounds: 3, additions: 4000 } }

export const counters: Bench = {
  async run(context) {
    const inStore = await inTemporaryFolder('bench-counters', folder => measureStore(context, folder))
    return report(inStore, await measureNetwork(context))
  },
}

async function measureStore({ quick, seed, progress }: BenchContext, folder: string): Promise<Standing<Measure>[]> {
  const { rounds, additions, alone } = quick ? QUICK : FULL
  const module = new URL('./contender-process.js', import.meta.url)
  const contenders: PreparedContender<null, Measure>[] = []
  try {
    for (const [i, ids] of [NO_IDS, OWN_IDS, FOREIGN_IDS].entries()) {
      const sizes = { counters: COUNTERS, clients: CLIENTS, additions, alone, seed }
      const settings: CountersSettings = { ids, path: join(folder, `${i}`), ...sizes }
      contenders.push(await startChild<null, Measure>({ name: ids, module, settings }))
    }
    const onTurn = (done: number, total: number, name: string) => progress(done, 1.5 * total, name)
    return await measureSideBySide({ contenders, measures: MEASURES, rounds, onTurn })
  } finally {
    await Promise.all(contenders.map(contender => contender.stop()))
  }
}

async function measureNetwork({ quick, progress }: BenchContext): Promise<Standing<'add'>[]> {
  const { rounds, additions } = (quick ? QUICK : FULL).network
  const starts = [startFreshetContender, ...(isRedisInstalled() ? [startRedisContender] : [])]
  const contenders: NetworkContender[] = []
  try {
    for (const start of starts) contenders.push(await start({ clients: CLIENTS, additions }))
    const onTurn = (done: number, total: number, name: string) => progress(2 * total + done, 3 * total, name)
    return await measureSideBySide({ contenders, measures: ['add'], rounds, onTurn })
  } finally {
    await Promise.all(contenders.map(contender => contender.stop()))
  }
}

function report(inStore: readonly Standing<Measure>[], overNetwork: readonly Standing<'add'>[]): BenchResult {
  const ratio = (ids: string, measure: Measure) => rounded(speedRatio(inStore, ids, NO_IDS, measure))
  const hotFactor = rounded(hotFactorOf(inStore.find(({ name }) => name === OWN_IDS)!))
  const hasRedis = overNetwork.some(({ name }) => name === REDIS)
  const ratioToRedis = hasRedis ? rounded(speedRatio(overNetwork, FRESHET, REDIS, 'add')) : undefined
  return {
    summary: {
      ratioOwnIds: ratio(OWN_IDS, 'spread'),
      ratioForeignIds: ratio(FOREIGN_IDS, 'spread'),
      ratioOwnIdsByProcessor: ratio(OWN_IDS, 'processor'),
      ratioForeignIdsByProcessor: ratio(FOREIGN_IDS, 'processor'),
      ...{ hotFactor, ratioToRedis, clients: CLIENTS },
      addedPerSecond: Object.fromEntries(overNetwork.map(({ name, medians }) => [name, perSecond(medians.add)])),
    },
    tables: [
      {
        title: `Durable additions in the store, ${CLIENTS} clients`,
        columns: ['ids', 'per second', 'ratio to no ids', 'by processor time', 'one counter', 'one by one'],
        rows: inStore.map(({ name, medians }) => [
          ...[name, perSecond(medians.spread), ratio(name, 'spread'), ratio(name, 'processor')],
          ...[perSecond(medians.hot), perSecond(medians.alone)],
        ]),
      },
      {
        title: `Over the network, one counter, ${CLIENTS} connections, each addition on disk before the answer`,
        columns: ['server', 'additions per second'],
        rows: overNetwork.map(({ name, medians }) => [name, perSecond(medians.add)]),
      },
    ],
    notes: [
      `With our ids, the store adds at ${ratio(OWN_IDS, 'spread')} times its rate without ids (target: 0.9).`,
      `One counter takes ${hotFactor} times as many additions from ${CLIENTS} clients as with one flush each (target: 20).`,
      hasRedis
        ? `Over HTTP, it takes ${ratioToRedis} times as many as Redis with INCR and SET NX EX in a script, appendfsync always.`
        : 'Redis is not installed, so the comparison was skipped. To install it: sudo apt-get install redis-server',
      `Measured in ${tmpdir()}: on an in-memory file system these figures mean nothing.`,
    ],
  }
}

/** Within each round. */
function hotFactorOf({ rounds }: Standing<Measure>): number {
  return median(rounds.flatMap(readings => (readings ? [readings.alone / readings.hot] : [])))
}

function perSecond(nanoseconds: number): number {
  return Math.round(1e9 / nanoseconds)
}

function rounded(ratio: number): number {
  return Number(ratio.toPrecision(3))
}
