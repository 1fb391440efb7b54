/**
 * Table 12 and figure 100 of the thesis (section 4.7): how fast posts travel along a chain of 25 clients that poll, with copies
 * that a cache may keep for two minutes, and how many transactions roll back because they read an outdated copy.
 *
 * Time passes faster than in the thesis (`chain.ts`). The transactions are the client's, classic or coherent. In the thesis, the
 * smart client's hops took twice as long because its database locked what it validated. Freshet does not lock, so here that
 * client is only wrong, and not slow.
 */
import { withCaches } from '../../caches/require-caches.js'
import type { Experiment, ExperimentContext, ExperimentResult, Verdict } from '../../harness/experiment.js'
import { type ChainResult, CLIENTS, runChain } from './chain.js'
import { STRATEGIES } from './chain-strategies.js'
import { fiveNumbersOf, meanOf, rounded, sumOf } from './figures.js'

const FULL = { posts: 10, speed: 5 }
const QUICK = { posts: 2, speed: 10 }
const HOP_S_EXPECTED = 2.5

export const orestesTable12: Experiment = {
  source: 'Gessert and Bücklers 2012, table 12 and figure 100',
  run: withCaches(['varnish'], async context => {
    const measured = context.quick ? QUICK : FULL
    return toResult(await measureAll(context, measured), measured.speed, context.quick)
  }),
}

async function measureAll({ progress }: ExperimentContext, { posts, speed }: typeof FULL): Promise<ChainResult[]> {
  const total = STRATEGIES.length * posts * CLIENTS
  let hops = 0
  const onHop = () => progress(++hops, total)
  // At the same time, each with a server and a cache of its own: they do little but wait.
  return Promise.all(STRATEGIES.map(strategy => runChain({ strategy, posts, speed, onHop })))
}

function toResult(results: readonly ChainResult[], speed: number, isQuick: boolean): ExperimentResult {
  const columns = [
    ...['strategy', 'whose', 'hop: least / s', 'mean / s', 'most / s', 'whole way / s', 'transactions', 'rollbacks'],
    ...['stale reads', 'requests a minute', 'request / ms'],
  ]
  const rows = results.flatMap(result => {
    const { strategy, hopsS, totalsS, transactions, rollbacks, staleReads, requestsPerMinute, requestMs } = result
    const { thesis } = strategy
    const own = [
      ...[strategy.name, 'ours', rounded(Math.min(...hopsS), 2), rounded(meanOf(hopsS), 2)],
      ...[rounded(Math.max(...hopsS), 2), rounded(meanOf(totalsS), 2), transactions, rollbacks, staleReads],
      ...[rounded(requestsPerMinute, 1), rounded(requestMs, 1)],
    ]
    if (thesis === undefined) return [own]
    const { min, mean, max, total } = thesis
    return [[strategy.name, 'thesis', min, mean, max, total, thesis.transactions, thesis.rollbacks], own]
  })
  return {
    summary: {
      speed,
      strategies: Object.fromEntries(
        results.map(({ strategy, hopsS, transactions, rollbacks, staleReads, requestsPerMinute }) => [
          strategy.name,
          { hopS: rounded(meanOf(hopsS), 2), transactions, rollbacks, staleReads, requestsPerMinute },
        ]),
      ),
    },
    points: results.map(({ strategy, hopsS }) => ({ strategy: strategy.name, hopsS })),
    tables: [{ title: `Table 12, with time ${speed} times as fast; all figures in the thesis's time`, columns, rows }],
    plots: [{ name: 'hops', chart: hopsChart(results) }],
    // So fast, a busy machine shows in every hop.
    verdicts: [...verdictsOf(results), ...(isQuick ? [] : [timelinessOf(results)])],
  }
}

function hopsChart(results: readonly ChainResult[]): ExperimentResult['plots'][number]['chart'] {
  return {
    kind: 'boxes',
    title: 'Figure 100: time of a post to the next client',
    subtitle: 'minimum, quartiles, maximum; a client that polls should see it after 2.5 s',
    y: { name: "seconds of the thesis's time", min: 0 },
    references: [
      { name: '2.5 s', at: HOP_S_EXPECTED },
      { name: "thesis's filter, mean", at: thesisFilterS() },
    ],
    boxes: results.map(({ strategy, hopsS }) => ({ name: strategy.name, numbers: fiveNumbersOf(hopsS) })),
  }
}

function thesisFilterS(): number {
  return STRATEGIES.find(({ name }) => name === 'filter')!.thesis!.mean
}

function verdictsOf(results: readonly ChainResult[]): Verdict[] {
  const [smart, filter, , push] = results as readonly [ChainResult, ChainResult, ChainResult, ChainResult]
  const changes = smart.hopsS.length
  const lost = sumOf(results.map(result => result.lost))
  const coherent = [filter, push]
  return [
    {
      claim: 'every post reaches the end of the chain',
      holds: lost === 0,
      detail: `${lost} did not`,
    },
    {
      claim: 'the smart client rolls back for nearly every change, as in the thesis (243 for 250)',
      holds: smart.rollbacks > 0.5 * changes,
      detail: `${smart.rollbacks} rollbacks for ${changes} changes on watched walls`,
    },
    {
      claim: 'with the filter, fetched or pushed, nothing rolls back, and no read is older than promised',
      holds: coherent.every(({ rollbacks, staleReads }) => rollbacks === 0 && staleReads === 0),
      detail: `${sumOf(coherent.map(({ rollbacks }) => rollbacks))} rollbacks, ${sumOf(coherent.map(({ staleReads }) => staleReads))} stale reads`,
    },
    {
      claim: 'with the pushed filter, a hop is faster still and takes fewer requests',
      holds: meanOf(push.hopsS) < meanOf(filter.hopsS) && push.requestsPerMinute < filter.requestsPerMinute,
      detail: `${hopOf(push)}; ${rounded(push.requestsPerMinute, 1)} requests a minute, compared with ${rounded(filter.requestsPerMinute, 1)}`,
    },
  ]
}

function timelinessOf(results: readonly ChainResult[]): Verdict {
  const [, filter, purges] = results as readonly [ChainResult, ChainResult, ChainResult, ChainResult]
  const isNoSlower = ({ hopsS, strategy }: ChainResult) => meanOf(hopsS) <= strategy.thesis!.mean
  return {
    claim: 'a hop takes no longer than in the thesis: 3.07 s with the filter, 3.11 s with purges',
    holds: isNoSlower(filter) && isNoSlower(purges),
    detail: `${hopOf(filter)}, ${hopOf(purges)}`,
  }
}

function hopOf({ strategy, hopsS }: ChainResult): string {
  return `${strategy.name} ${rounded(meanOf(hopsS), 2)} s`
}
