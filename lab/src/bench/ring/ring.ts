/** A ring of three Redis servers compared with the store in one: durable, 500 bytes, 64 in flight in all, one server and two. */
import { DURABLE, startRedis } from '@freshet/engines/under-test/redis'
import type { Bench, BenchContext, BenchResult } from '../../harness/bench.js'
import type { PreparedContender } from '../../harness/child-contender.js'
import { nameFleet, startContenderFleet } from '../../harness/contender-fleet.js'
import { measureSideBySide, type Standing, speedRatio } from '../../harness/side-by-side.js'
import type { RingMeasure, RingSettings } from './ring-worker.js'

const IN_FLIGHT = 64
const KINDS = ['one', 'ring'] as const
const SERVERS = [1, 2]
const FULL = { commits: 6400, gets: 20_000, alone: 100, rounds: 7 }
const QUICK = { commits: 3200, gets: 10_000, alone: 50, rounds: 3 }
const MEASURES = ['commit', 'get', 'alone'] as const

type RingContender = PreparedContender<undefined, RingMeasure>

export const ring: Bench = {
  async run(context) {
    const nodes = await Promise.all([1, 2, 3].map(() => startRedis({ settings: DURABLE })))
    try {
      return report(
        await measure(
          context,
          nodes.map(({ url }) => url),
        ),
      )
    } finally {
      for (const node of nodes) await node.stop()
    }
  },
}

async function measure(
  { quick, progress }: BenchContext,
  urls: readonly string[],
): Promise<readonly Standing<RingMeasure>[]> {
  const { rounds, ...counts } = quick ? QUICK : FULL
  const contenders: RingContender[] = []
  try {
    for (const kind of KINDS) {
      for (const servers of SERVERS) contenders.push(await startFleet({ kind, urls, ...counts }, servers))
    }
    return await measureSideBySide<RingMeasure>({ contenders, measures: MEASURES, rounds, onTurn: progress })
  } finally {
    await Promise.all(contenders.map(contender => contender.stop()))
  }
}

function startFleet(given: Omit<RingSettings, 'server' | 'inFlight'>, servers: number): Promise<RingContender> {
  const share = { inFlight: IN_FLIGHT / servers, commits: given.commits / servers, gets: given.gets / servers }
  return startContenderFleet<RingMeasure>({
    name: nameFleet(given.kind, servers),
    module: new URL('./contender-process.js', import.meta.url),
    servers,
    settingsOf: (server): RingSettings => ({ ...given, ...share, server }),
    shared: ['commit', 'get'],
  })
}

function report(standings: readonly Standing<RingMeasure>[]): BenchResult {
  const ratios = (of: RingMeasure) =>
    Object.fromEntries(
      SERVERS.map(servers => {
        const ratio = speedRatio(standings, nameFleet('ring', servers), nameFleet('one', servers), of)
        return [servers, Number(ratio.toPrecision(3))]
      }),
    )
  const [commitsToOne, readsToOne, aloneToOne] = MEASURES.map(ratios)
  return {
    summary: { inFlight: IN_FLIGHT, commitsToOne, readsToOne, aloneToOne },
    tables: [
      {
        title: `${IN_FLIGHT} in flight in all`,
        columns: ['', 'commits per second', 'reads per second', 'ms for a commit alone'],
        rows: standings.map(({ name, medians: { commit, get, alone } }) => [
          ...[name, Math.round(1e9 / commit), Math.round(1e9 / get), Number((alone / 1e6).toFixed(1))],
        ]),
      },
    ],
    notes: ['one: the store in the first Redis. ring: the store in all three. Everything runs on this machine.'],
  }
}
