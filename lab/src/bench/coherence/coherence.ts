/**
 * What shared caches gain for readers far from the server, and what it costs never to be stale: the thesis's social network,
 * figures 24 and 25, in an emulated network of the same distances (`stage.ts`), with a real Varnish and the shipped
 * configuration, compared with the same client talking to the server directly and caching nothing.
 *
 * A client reads ten objects one after the other and writes one of them. The write has to go to the server, so a visit takes at
 * least one long round trip: a client that waits for it can be at most 11 times as fast as without caches. So the bench reports
 * two ratios, for the time of the reads alone (`speedup`) and for everything (`speedupWithWrites`).
 *
 * There is another bound. A new version is in no cache yet: the first client that reads it waits for the server, and so do all
 * that request it while it is on its way. With one write to ten reads, and clients that never pause, that is one read in ten or
 * more, however good the cache.
 */
import { readAll } from '../../caches/read-all.js'
import { requireCaches } from '../../caches/require-caches.js'
import type { Bench, BenchContext } from '../../harness/bench.js'
import { createRandom, type Random } from '../../harness/random.js'
import { type Following, measureFollowing } from './following.js'
import { type Measured, type MeasuredRun, reportOf } from './report.js'
import { BUCKET, createChoice, idOf, type Spread } from './social-network.js'
import { type Stage, startStage } from './stage.js'
import { Clients, Journal } from './visits.js'

const RUNS = 3
/** Direct clients never find a cached copy, so fewer of their visits are enough. */
const FULL = {
  sizes: [300, 3_000, 30_000],
  spreads: ['zipf', 'uniform'],
  clients: 50,
  visits: 15,
  directVisits: 2,
  followSeconds: 60,
} as const
const QUICK = { sizes: [300], spreads: ['zipf'], clients: 20, visits: 6, directVisits: 1, followSeconds: 5 } as const
const MEMORY_BYTES = 16 * 1024 * 1024

export const coherence: Bench = {
  async run(context) {
    requireCaches(['varnish'])
    const plan = context.quick ? QUICK : FULL
    const cases = plan.sizes.flatMap(objects => plan.spreads.map(spread => ({ objects, spread })))
    const random = createRandom(context.seed)
    const measured: Measured[] = []
    for (const each of cases) {
      const part = { done: measured.length, of: cases.length + 1 }
      measured.push(await measureCase(context, each, random.fork(`${each.objects} ${each.spread}`), part))
    }
    const onProgress = (share: number) => context.progress(cases.length + share, cases.length + 1, 'following')
    const following = await follow(context, plan.followSeconds, random.fork('following'), onProgress)
    return reportOf({ measured, following, clients: plan.clients })
  },
}

interface Case {
  readonly objects: number
  readonly spread: Spread
}

async function measureCase(
  { quick, seed, progress }: BenchContext,
  { objects, spread }: Case,
  random: Random,
  { done, of }: { readonly done: number; readonly of: number },
): Promise<Measured> {
  const plan = quick ? QUICK : FULL
  const stage = await startStage({ objects, seed })
  const choose = createChoice(spread, objects, random)
  const steps = 2 * RUNS
  let step = 0
  await readAll(
    stage.cacheUrl,
    Array.from({ length: objects }, (_, i) => `/db/${BUCKET}/${idOf(i)}`),
  )
  const measureRuns = async (name: string, url: string, memoryBytesMax: number, visits: number) => {
    const journal = new Journal()
    const clients = new Clients({
      ...{ url, clients: plan.clients, memoryBytesMax, choose, random: random.fork(name), journal },
    })
    await clients.connect()
    const runs: MeasuredRun[] = []
    for (let run = 0; run < RUNS; run++) {
      progress(done + step++ / steps, of, `${objects} objects, ${spread}, ${name}`)
      const before = await stage.originReads()
      const times = await clients.run(visits)
      runs.push({ ...times, originReads: (await stage.originReads()) - before })
    }
    clients.close()
    return { runs, staleReads: journal.checker.violationCount, traces: journal.checker.traces }
  }
  try {
    const cached = await measureRuns('cached', stage.cachedUrl, MEMORY_BYTES, plan.visits)
    const direct = await measureRuns('direct', stage.directUrl, 0, plan.directVisits)
    return { objects, spread, cached, direct }
  } finally {
    await stage.stop()
  }
}

async function follow(
  { seed }: BenchContext,
  seconds: number,
  random: Random,
  onProgress: (share: number) => void,
): Promise<Following> {
  const objects = 3_000
  const stage: Stage = await startStage({ objects, seed })
  try {
    return await measureFollowing({ stage, objects, seconds, random, onProgress })
  } finally {
    await stage.stop()
  }
}
