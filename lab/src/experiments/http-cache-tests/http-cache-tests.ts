/**
 * Mark Nottingham's http-cache-tests (https://cache-tests.fyi) against each cache that we ship a configuration for, with that
 * configuration. The verdicts count only the tests that we rely on (`relied-upon.ts`); the suite itself says that passing all
 * of it means nothing. The results are stored in docs/reference/http-cache-tests.md and .json.
 */
import type { CacheKind, RunningCache } from '../../caches/cache-process.js'
import { startNginx } from '../../caches/nginx.js'
import { requireCaches } from '../../caches/require-caches.js'
import { startSquid } from '../../caches/squid.js'
import { startVarnish } from '../../caches/varnish.js'
import type { Experiment, ExperimentContext, ExperimentResult, Verdict } from '../../harness/experiment.js'
import { GROUPS, RELIED_UPON, type ReliedUpon } from './relied-upon.js'
import { type Outcome, type Outcomes, runSuite } from './run-suite.js'

const STARTS: Readonly<Record<CacheKind, (origin: string) => Promise<RunningCache>>> = {
  varnish: origin => startVarnish({ origin }),
  squid: origin => startSquid({ origin }),
  nginx: origin => startNginx({ origin }),
}

export const KINDS: readonly CacheKind[] = ['varnish', 'squid', 'nginx']

type Results = Readonly<Record<CacheKind, Outcomes>>

export const httpCacheTests: Experiment = {
  source: 'http-cache-tests 0.4.5, cache-tests.fyi',
  run: async context => {
    requireCaches(KINDS)
    return toResult(await runAll(context))
  },
}

/** A quick run cannot leave anything out: the suite mostly waits for copies to expire. */
async function runAll({ progress }: ExperimentContext): Promise<Results> {
  const results: [CacheKind, Outcomes][] = []
  for (const [i, kind] of KINDS.entries()) {
    progress(i, KINDS.length, kind)
    results.push([kind, await runSuite(STARTS[kind])])
  }
  return Object.fromEntries(results) as Results
}

function toResult(results: Results): ExperimentResult {
  const tables = GROUPS.map(group => ({
    title: group,
    columns: ['test', ...KINDS, 'for what'],
    rows: RELIED_UPON.filter(each => each.group === group).map(({ id, why }) => [
      id,
      ...KINDS.map(kind => results[kind][id]),
      why,
    ]),
  }))
  return {
    summary: { caches: Object.fromEntries(KINDS.map(kind => [kind, countsOf(results[kind])])) },
    points: [results],
    tables: [...tables, countsTable(results)],
    plots: [{ name: 'outcomes', chart: outcomesChart(results) }],
    verdicts: GROUPS.slice(0, 3).map(group => verdictOf(group, results)),
  }
}

const OUTCOMES = ['pass', 'fail', 'yes', 'no', 'unclear'] as const

function countsOf(outcomes: Outcomes): Record<(typeof OUTCOMES)[number], number> {
  const all = Object.values(outcomes)
  const counts = OUTCOMES.map(outcome => [outcome, all.filter(each => each === outcome).length])
  return Object.fromEntries(counts)
}

function countsTable(results: Results): ExperimentResult['tables'][number] {
  return {
    title: 'The whole suite',
    columns: ['cache', ...OUTCOMES],
    rows: KINDS.map(kind => [kind, ...OUTCOMES.map(outcome => countsOf(results[kind])[outcome])]),
  }
}

function outcomesChart(results: Results): ExperimentResult['plots'][number]['chart'] {
  return {
    kind: 'bars',
    title: 'http-cache-tests with the shipped configurations',
    subtitle: 'pass, fail: required or recommended behaviour; yes, no: optional behaviour; unclear: not set up',
    y: { name: 'tests', min: 0 },
    categories: KINDS,
    series: OUTCOMES.map(name => ({ name, values: KINDS.map(kind => countsOf(results[kind])[name]) })),
  }
}

/** A cache that passes a test that it was excused from is not an error. */
function verdictOf(group: ReliedUpon['group'], results: Results): Verdict {
  const own = RELIED_UPON.filter(each => each.group === group)
  const failed = own.flatMap(({ id, spared, wanted }) =>
    KINDS.filter(kind => !isFine(results[kind][id], wanted)).map(kind => ({ id, kind, excuse: spared?.[kind] })),
  )
  const known = failed.filter(({ excuse }) => excuse !== undefined)
  const unknown = failed.filter(({ excuse }) => excuse === undefined)
  const list = unknown.map(({ id, kind }) => `${kind} fails ${id} (${results[kind][id]})`)
  const checked = own.length * KINDS.length
  return {
    claim: `${group}: each cache passes, or its failure is known to be harmless`,
    holds: unknown.length === 0,
    detail: [`${checked - failed.length} of ${checked} pass, known to fail: ${known.length}`, ...list].join('\n'),
  }
}

function isFine(outcome: Outcome | undefined, wanted: ReliedUpon['wanted']): boolean {
  return wanted === undefined ? outcome === 'pass' || outcome === 'yes' : outcome === wanted
}
