/** A hundred thousand peers in one process: how long it takes, and how much memory. Ten times the paper's, for which theirs ended. */
import type { Experiment, ExperimentContext, ExperimentResult } from '../../harness/experiment.js'
import { type ChurnResult, PAPER, runChurn } from '../../ring-simulator/churn-run.js'
import { pointOf } from './kts-figure.js'

const PEERS = { quick: 10_000, full: 100_000 }
const MINUTES_MAX = 10
const GIGABYTES_MAX = 8

export const ktsScale: Experiment = {
  name: 'kts-scale',
  title: 'Current reads from replicas: 100 000 peers in one process',
  source: 'beyond Akbarinia, Pacitti, Valduriez 2007, figures 7 and 8',
  run: async context => measure(context),
}

function measure({ quick, seed, progress }: ExperimentContext): ExperimentResult {
  const peers = quick ? PEERS.quick : PEERS.full
  // Each peer lives as long as in the paper's ring: so ten departures a second. An hour and a half of it.
  const departuresPerSecond = peers / PAPER.peers
  const durationMs = (quick ? 0.25 : 1.5) * 3_600_000
  let bytesMax = 0
  const startedMs = performance.now()
  const result = runChurn({ ...PAPER, seed, peers, departuresPerSecond, durationMs, items: 100 }, share => {
    bytesMax = Math.max(bytesMax, process.memoryUsage().rss)
    progress(share, 1, `${peers} peers`)
  })
  return toResult(peers, durationMs, result, (performance.now() - startedMs) / 60_000, bytesMax / 2 ** 30)
}

function toResult(
  peers: number,
  durationMs: number,
  { queries, events, departures }: ChurnResult,
  minutes: number,
  gigabytes: number,
): ExperimentResult {
  const points = (['direct', 'indirect', 'brk'] as const).map(algorithm => pointOf(peers, algorithm, queries))
  const [direct, , brk] = points
  return {
    summary: { peers, minutes, gigabytes, events, departures, factorDirect: brk!.responseMs / direct!.responseMs },
    points,
    tables: [
      {
        title: `${peers} peers for ${durationMs / 3_600_000} h: ${events} events, ${departures} departures, in ${minutes.toFixed(1)} minutes and ${gigabytes.toFixed(2)} GiB`,
        columns: ['algorithm', 'response time, s', 'messages', 'replicas', 'said to be current', 'latest', 'queries'],
        rows: points.map(p => [
          ...[p.algorithm, p.responseMs / 1000, p.messages, p.replicas, p.current, p.latest, p.queries],
        ]),
      },
    ],
    plots: [],
    verdicts: [
      {
        claim: `it takes no more than ${MINUTES_MAX} minutes and ${GIGABYTES_MAX} GiB`,
        holds: minutes < MINUTES_MAX && gigabytes < GIGABYTES_MAX,
        detail: `${minutes.toFixed(1)} minutes, ${gigabytes.toFixed(2)} GiB, ${Math.round(events / minutes / 60_000)} thousand events a second`,
      },
      {
        claim: 'UMS-Direct is faster than BRK',
        holds: direct!.responseMs < brk!.responseMs / 2,
        detail: `${(brk!.responseMs / direct!.responseMs).toFixed(1)} times`,
      },
    ],
  }
}
