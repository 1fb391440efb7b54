/**
 * Not in the paper: the effect of parallel requests. BRK may request all replicas at the same time, UMS the last timestamp and a
 * first replica. BRK is then as fast as its slowest replica, and sends as many messages as before.
 */

import { PAPER, runChurn } from '../../dht-simulator/churn-run.js'
import type { Experiment, ExperimentContext, ExperimentResult, Verdict } from '../../harness/experiment.js'
import { type FigurePoint, ITEMS_FOR_RARE_EVENTS, pointOf, settingsOf } from './kts-figure.js'

interface Row {
  readonly name: string
  readonly point: FigurePoint
}

export const ktsAtOnce: Experiment = {
  source: 'beyond Akbarinia, Pacitti, Valduriez 2007, figures 7 and 8',
  run: async context => toResult(measure(context)),
}

function measure(context: ExperimentContext): Row[] {
  const settings = settingsOf({ items: ITEMS_FOR_RARE_EVENTS }, context)
  const algorithms = ['direct', 'brk'] as const
  const run = (index: number, atOnce: { readonly readsAhead: number; readonly versionsAtOnce: number }) =>
    runChurn({ ...settings, ...atOnce, algorithms }, share => context.progress(index + share, 2)).queries
  const inTurn = run(0, { readsAhead: 0, versionsAtOnce: 1 })
  const atOnce = run(1, { readsAhead: 1, versionsAtOnce: PAPER.replicas })
  return [
    { name: 'BRK, replicas one by one', point: pointOf(0, 'brk', inTurn) },
    { name: 'BRK, all replicas at once', point: pointOf(1, 'brk', atOnce) },
    { name: 'UMS-Direct, first the timestamp', point: pointOf(0, 'direct', inTurn) },
    { name: 'UMS-Direct, timestamp and one replica at once', point: pointOf(1, 'direct', atOnce) },
  ]
}

function toResult(rows: readonly Row[]): ExperimentResult {
  const [, brkAtOnce, umsInTurn, umsAtOnce] = rows.map(({ point }) => point)
  const verdicts: Verdict[] = [
    {
      claim: 'requesting a replica ahead makes UMS faster, for at most a tenth more messages',
      holds: umsAtOnce!.responseMs < 0.75 * umsInTurn!.responseMs && umsAtOnce!.messages < 1.1 * umsInTurn!.messages,
      detail: `${(umsInTurn!.responseMs / umsAtOnce!.responseMs).toFixed(2)} times as fast, ${(umsAtOnce!.messages / umsInTurn!.messages).toFixed(2)} times as many messages`,
    },
    {
      claim: 'with parallel requests, UMS is still no slower than BRK, and sends a fraction of the messages',
      holds: umsAtOnce!.responseMs < brkAtOnce!.responseMs * 1.05 && umsAtOnce!.messages < brkAtOnce!.messages / 3,
      detail: `${(brkAtOnce!.responseMs / umsAtOnce!.responseMs).toFixed(2)} times as fast, BRK sends ${(brkAtOnce!.messages / umsAtOnce!.messages).toFixed(1)} times as many messages`,
    },
  ]
  return {
    summary: { speedOfAhead: umsInTurn!.responseMs / umsAtOnce!.responseMs },
    points: rows,
    tables: [
      {
        title: 'A read, by what is requested at once',
        columns: ['algorithm', 'response time, s', 'messages', 'queries'],
        rows: rows.map(({ name, point }) => [name, point.responseMs / 1000, point.messages, point.queries]),
      },
    ],
    plots: [
      {
        name: 'response-time',
        chart: {
          ...{ kind: 'bars', title: 'Response time of a read', categories: rows.map(({ name }) => name) },
          y: { name: 'response time, s', min: 0 },
          series: [{ name: 'response time, s', values: rows.map(({ point }) => point.responseMs / 1000) }],
        },
      },
    ],
    verdicts,
  }
}
