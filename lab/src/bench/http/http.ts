/**
 * Reads over HTTP: GET of 500-byte objects from Freshet on its embedded store, beside a bare node:http server that answers with
 * a constant and the same headers; the same with If-None-Match, answered 304; reads with a token, and by a rule that looks at the
 * row, beside anonymous reads; the cost of checksums; and two workers beside one.
 *
 * With one worker, server and load have a processor each. With two workers and only two processors, the load competes with the
 * workers, so the plain ratio says more about `wrk` than about them. In that case the ratio that counts comes from the processor
 * time that the workers used: the rate that two would reach with a processor each. Both are reported.
 */
import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench, BenchContext, BenchResult } from '../../harness/bench.js'
import { measureTrees, type Tree, type TreeRow } from '../../harness/compare-trees.js'
import {
  type Contender,
  measureSideBySide,
  median,
  type Readings,
  type Standing,
  speedRatio,
} from '../../harness/side-by-side.js'
import { inTemporaryFolder } from '../../harness/temporary-folder.js'
import { hookedArguments } from '../checksum-hooks.js'
import type { BareSettings } from './bare-server.js'
import { fillGuarded, guardedArguments, READERS, type Reader } from './guarded-reads.js'
import { type ServerProcess, startServer } from './server-process.js'
import { type Load, requestsPerSecond, requireWrk, scriptFor } from './wrk.js'

/** By wall-clock time, and by the processor time that the server used. */
const MEASURES = ['get', 'notModified', 'getCpu', 'notModifiedCpu'] as const
type Measure = (typeof MEASURES)[number]

const READER_MEASURES = ['get', 'getCpu'] as const
type ReaderMeasure = (typeof READER_MEASURES)[number]

const OBJECTS = 1000
const BODY_BYTES = 500
/** Many short rounds rather than few long ones: the noise of a shared machine lasts seconds, and cancels out between neighbours. */
const FULL = { rounds: 21, seconds: 1 }
const QUICK = { rounds: 3, seconds: 1 }
const FULL_COMPARED = { rounds: 11, seconds: 1, sittings: 4 }
const QUICK_COMPARED = { rounds: 4, seconds: 1, sittings: 2 }
const COMMAND = fileURLToPath(import.meta.resolve('@freshet/cli/dist/freshet.js'))

export const http: Bench = {
  async run(context) {
    requireWrk()
    return inTemporaryFolder('bench-http', folder => measure(context, folder))
  },
  async compare(context, trees) {
    requireWrk()
    return inTemporaryFolder('bench-http', folder => compare(context, trees, folder))
  },
}

async function compare({ quick, progress }: BenchContext, trees: readonly Tree[], folder: string): Promise<TreeRow[]> {
  const { rounds, sittings, seconds } = quick ? QUICK_COMPARED : FULL_COMPARED
  const start = async (tree: Tree, sitting: number) => {
    const name = `${tree.name}-${sitting}`
    const server = await startServer(freshet(folder, name, 1, 0, join(tree.root, 'packages/cli/dist/freshet.js')))
    const scripts = await fill(server.url, folder, name)
    const load = (script: string) => rates(server, { script, seconds, core: 1 })
    const round = async () => readings(await load(scripts.get), await load(scripts.notModified))
    return { name, round, stop: () => server.stop() }
  }
  const ratios = await measureTrees<Measure>({ trees, measures: MEASURES, rounds, sittings, onTurn: progress, start })
  return [
    { name: 'GET by processor time', decides: true, ratios: ratios.getCpu },
    { name: '304 by processor time', decides: true, ratios: ratios.notModifiedCpu },
    { name: 'GET by wall-clock time', decides: false, ratios: ratios.get },
    { name: '304 by wall-clock time', decides: false, ratios: ratios.notModified },
  ]
}

async function measure(context: BenchContext, folder: string): Promise<BenchResult> {
  const servers: ServerProcess[] = []
  const start = async (...command: Parameters<typeof startServer>) => {
    const server = await startServer(...command)
    servers.push(server)
    return server
  }
  try {
    const one = await start(freshet(folder, 'one', 1, 0))
    const scripts = await fill(one.url, folder, 'one')
    const bare = await start({
      name: 'node:http',
      args: [bareModule(), JSON.stringify(await sameAs(one.url))],
      core: 0,
    })
    const hooked = await start(hookedFreshet(folder))
    const guarded = await start(await guardedFreshet(folder))
    const guardedScripts = await fillGuarded(guarded.url, folder, { objects: OBJECTS, bodyBytes: BODY_BYTES })
    const free = await start(freshet(folder, 'free', 1))
    const two = await start(freshet(folder, 'two', 2))
    await fill(free.url, folder, 'free')
    await fill(two.url, folder, 'two')
    const hookedScripts = await fill(hooked.url, folder, 'hooked')
    const against = await sideBySide(context, { bare, one }, scripts)
    const byReader = await compareReaders(context, guarded, guardedScripts)
    const costOfChecksums = await measureChecksums(context, hooked, hookedScripts.get)
    const workers = await compareWorkers(context, { one: free, two }, scripts.get)
    return report(against, byReader, workers, costOfChecksums)
  } finally {
    await Promise.all(servers.map(server => server.stop()))
  }
}

function freshet(folder: string, name: string, workers: number, core?: number, command = COMMAND) {
  const args = [
    'serve',
    '--data',
    join(folder, name),
    '--port',
    '0',
    '--workers',
    String(workers),
    '--log-level',
    'info',
  ]
  return { name: `freshet (${name})`, args: [command, ...args], core }
}

/** Without cached objects: each read goes to the store, and checks a record. */
function hookedFreshet(folder: string) {
  const { args, ...command } = freshet(folder, 'hooked', 1, 0)
  return { ...command, args: [...hookedArguments(), ...args, '--hot-cache-bytes-max', '0'] }
}

async function guardedFreshet(folder: string) {
  const { args, ...command } = freshet(folder, 'guarded', 1, 0)
  return { ...command, args: [...args, ...(await guardedArguments(folder))] }
}

function bareModule(): string {
  return fileURLToPath(new URL('./bare-server.js', import.meta.url))
}

interface Scripts {
  readonly get: string
  readonly notModified: string
}

/** Writes the objects, and the scripts that request them. All have one version, so that one If-None-Match fits all. */
async function fill(url: string, folder: string, name: string): Promise<Scripts> {
  const paths = Array.from({ length: OBJECTS }, (_, i) => `/db/shop/products/${i}`)
  const value = { name: 'x'.repeat(BODY_BYTES - JSON.stringify({ name: '' }).length) }
  const response = await fetch(`${url}/commit`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ writes: paths.map(path => ({ path, value })) }),
  })
  if (!response.ok) throw new Error(`The server did not write the objects: ${await response.text()}`)
  const { position } = (await response.json()) as { position: number }
  const scripts = { get: join(folder, `${name}-get.lua`), notModified: join(folder, `${name}-not-modified.lua`) }
  await writeFile(scripts.get, scriptFor(paths))
  await writeFile(
    scripts.notModified,
    scriptFor(paths, () => ({ 'If-None-Match': `"${position}"` })),
  )
  return scripts
}

/** The headers and body of one of our answers, for the bare server to repeat. Node adds Date and connection headers. */
async function sameAs(url: string): Promise<BareSettings> {
  const response = await fetch(`${url}/db/shop/products/0`)
  const own = ['date', 'connection', 'keep-alive', 'transfer-encoding']
  const headers = [...response.headers].filter(([name]) => !own.includes(name)).flat()
  return { headers, body: await response.text() }
}

async function sideBySide(
  { quick, progress }: BenchContext,
  { bare, one }: { bare: ServerProcess; one: ServerProcess },
  scripts: Scripts,
): Promise<Standing<Measure>[]> {
  const { rounds, seconds } = quick ? QUICK : FULL
  const load = (server: ServerProcess, script: string) => rates(server, { script, seconds, core: 1 })
  const contenders: Contender<Measure>[] = [
    {
      name: 'node:http',
      // The bare server has no 304: both measures of ours are compared with its plain answer.
      round: async () => {
        const get = await load(bare, scripts.get)
        return readings(get, get)
      },
    },
    {
      name: 'freshet',
      round: async () => readings(await load(one, scripts.get), await load(one, scripts.notModified)),
    },
  ]
  const onTurn = (done: number, total: number, name: string) => progress(done, total * 4, name)
  return measureSideBySide({ contenders, measures: MEASURES, rounds, onTurn })
}

/** Anonymous reads, reads with a token and reads by a row rule, from one server. */
async function compareReaders(
  { quick, progress }: BenchContext,
  guarded: ServerProcess,
  scripts: Readonly<Record<Reader, string>>,
): Promise<Standing<ReaderMeasure>[]> {
  const { rounds, seconds } = quick ? QUICK : FULL
  const contenders = READERS.map(name => ({
    name,
    round: async () => {
      const { perSecond, perCpuSecond } = await rates(guarded, { script: scripts[name], seconds, core: 1 })
      return { get: 1e9 / perSecond, getCpu: 1e9 / perCpuSecond }
    },
  }))
  const onTurn = (done: number, total: number, name: string) => progress(total + done, total * 4, name)
  return measureSideBySide({ contenders, measures: READER_MEASURES, rounds, onTurn })
}

/** The additional processor time of a request when its checksums are computed twice, as a share. */
async function measureChecksums(
  { quick, progress }: BenchContext,
  hooked: ServerProcess,
  script: string,
): Promise<number> {
  const { rounds, seconds } = quick ? QUICK : FULL
  const costs: number[] = []
  for (let round = 0; round <= rounds; round++) {
    progress(rounds * 2 + round, rounds * 4 + 1, 'checksums')
    const once = await rates(hooked, { script, seconds, core: 1 })
    hooked.signal('SIGUSR2')
    const twice = await rates(hooked, { script, seconds, core: 1 })
    hooked.signal('SIGUSR2')
    // The first round warms up.
    if (round > 0) costs.push(once.perCpuSecond / twice.perCpuSecond - 1)
  }
  return median(costs)
}

interface Workers {
  /** Requests per second, and per second of processor time, of one worker and of two. */
  readonly plain: number
  readonly byCpu: number
}

async function compareWorkers(
  { quick, progress }: BenchContext,
  { one, two }: { one: ServerProcess; two: ServerProcess },
  script: string,
): Promise<Workers> {
  const { rounds, seconds } = quick ? QUICK : FULL
  const plain: number[] = []
  const byCpu: number[] = []
  for (let round = 0; round <= rounds; round++) {
    progress(rounds * 3 + round, rounds * 4 + 1, 'workers')
    const single = await rates(one, { script, seconds })
    const double = await rates(two, { script, seconds })
    // The first round warms up.
    if (round === 0) continue
    plain.push(double.perSecond / single.perSecond)
    byCpu.push((2 * double.perCpuSecond) / single.perCpuSecond)
  }
  return { plain: median(plain), byCpu: median(byCpu) }
}

interface Rates {
  readonly perSecond: number
  readonly perCpuSecond: number
}

async function rates(server: ServerProcess, load: Omit<Load, 'url'>): Promise<Rates> {
  const before = server.cpuSeconds()
  const perSecond = await requestsPerSecond({ url: server.url, ...load })
  return { perSecond, perCpuSecond: (perSecond * load.seconds) / (server.cpuSeconds() - before) }
}

/** Nanoseconds per request. */
function readings(get: Rates, notModified: Rates): Readings<Measure> {
  return {
    get: 1e9 / get.perSecond,
    notModified: 1e9 / notModified.perSecond,
    getCpu: 1e9 / get.perCpuSecond,
    notModifiedCpu: 1e9 / notModified.perCpuSecond,
  }
}

function report(
  standings: readonly Standing<Measure>[],
  byReader: readonly Standing<ReaderMeasure>[],
  workers: Workers,
  costOfChecksums: number,
): BenchResult {
  const hasCoreForLoad = availableParallelism() > 2
  const ratioToBareNode = speedRatio(standings, 'freshet', 'node:http', 'get')
  const ratioNotModified = speedRatio(standings, 'freshet', 'node:http', 'notModified')
  const ratioByCpu = speedRatio(standings, 'freshet', 'node:http', 'getCpu')
  const ratioNotModifiedByCpu = speedRatio(standings, 'freshet', 'node:http', 'notModifiedCpu')
  const ratioTwoWorkers = hasCoreForLoad ? workers.plain : workers.byCpu
  const ofAnonymous = (name: Reader, measure: ReaderMeasure) =>
    rounded(speedRatio(byReader, name, 'anonymous', measure))
  return {
    summary: {
      ratioToBareNode: rounded(ratioToBareNode),
      ratioNotModified: rounded(ratioNotModified),
      ratioToBareNodeByCpu: rounded(ratioByCpu),
      ratioNotModifiedByCpu: rounded(ratioNotModifiedByCpu),
      ratioWithToken: ofAnonymous('with a token', 'get'),
      ratioRowRule: ofAnonymous('by a row rule', 'get'),
      ratioWithTokenByCpu: ofAnonymous('with a token', 'getCpu'),
      ratioRowRuleByCpu: ofAnonymous('by a row rule', 'getCpu'),
      costOfChecksums: rounded(costOfChecksums),
      ratioTwoWorkers: rounded(ratioTwoWorkers),
      ratioTwoWorkersPlain: rounded(workers.plain),
      ratioTwoWorkersByCpu: rounded(workers.byCpu),
      cores: availableParallelism(),
    },
    tables: [
      {
        title: `GET of ${BODY_BYTES}-byte objects, one worker, 64 connections`,
        columns: ['server', 'requests/s', 'of bare', 'by processor time', '304s/s', 'of bare', 'by processor time'],
        rows: [
          ['node:http', perSecond(standings, 'node:http', 'get'), 1, 1, undefined, undefined, undefined],
          [
            'freshet',
            perSecond(standings, 'freshet', 'get'),
            rounded(ratioToBareNode),
            rounded(ratioByCpu),
            perSecond(standings, 'freshet', 'notModified'),
            rounded(ratioNotModified),
            rounded(ratioNotModifiedByCpu),
          ],
        ],
      },
      {
        title: 'The same from a server with access rules, by caller',
        columns: ['reads', 'requests/s', 'of anonymous', 'by processor time'],
        rows: READERS.map(name => [
          name,
          perSecond(byReader, name, 'get'),
          ofAnonymous(name, 'get'),
          ofAnonymous(name, 'getCpu'),
        ]),
      },
      {
        title: 'Two workers compared with one',
        columns: ['measured as', 'ratio'],
        rows: [
          ['requests per second, with the load on the same processors', rounded(workers.plain)],
          ['requests per second of processor time, times two', rounded(workers.byCpu)],
        ],
      },
    ],
    notes: [
      `Checksums take ${(100 * costOfChecksums).toFixed(1)}% of the processor time of a GET from the store: that much more if they are computed twice.`,
      ...(hasCoreForLoad
        ? []
        : ['With two processors and two workers, none is left for the load. The ratio by processor time counts.']),
    ],
  }
}

function perSecond<Name extends string>(standings: readonly Standing<Name>[], name: string, measure: Name): number {
  return Math.round(1e9 / standings.find(standing => standing.name === name)!.medians[measure])
}

function rounded(ratio: number): number {
  return Math.round(ratio * 1000) / 1000
}
