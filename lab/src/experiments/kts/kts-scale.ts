/** A hundred thousand peers in one process: time and memory. The paper's simulations ended at a tenth of that number. */

import { type ChurnResult, PAPER, runChurn } from '../../dht-simulator/churn-run.js'
import type { Experiment, ExperimentContext, ExperimentResult } from '../../harness/experiment.js'
import { pointOf } from './kts-figure.js'

const PEERS = { quick: 10_000, full: 100_000 }
const MINUTES_MAX = 10
const GIGABYTES_MAX = 8

export const ktsScale: Experiment = {
  source: 'beyond Akbarinia, Pacitti, Valduriez 2007, figures 7 and 8',
  run: async context => measure(context),
}

function measure({ quick, seed, progress }: ExperimentContext): ExperimentResult {
  const peers = quick ? PEERS.quick : PEERS.full
  // Each peer lives as long as in the paper's ring, so ten peers depart per second. Runs for half an hour.
  const departuresPerSecond = peers / PAPER.peers
  const durationMs = (quick ? 0.25 : 0.5) * 3_600_000
  let bytesMax = 0
  const [startedMs, usedBefore] = [performance.now(), processorMinutes()]
  const result = runChurn({ ...PAPER, seed, peers, departuresPerSecond, durationMs, items: 100 }, share => {
    bytesMax = Math.max(bytesMax, process.memoryUsage().rss)
    progress(share, 1, `${peers} peers`)
  })
  const minutes = (performance.now() - startedMs) / 60_000
  return toResult(
    { peers, durationMs, minutes, used: processorMinutes() - usedBefore, gigabytes: bytesMax / 2 ** 30 },
    result,
  )
}

function processorMinutes(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 60_000_000
}

interface Effort {
  readonly peers: number
  readonly durationMs: number
  readonly minutes: number
  /** Processor time. How much time passes meanwhile depends on what else the machine does. */
  readonly used: number
  readonly gigabytes: number
}

function toResult(
  { peers, durationMs, minutes, used, gigabytes }: Effort,
  { queries, events, departures }: ChurnResult,
): ExperimentResult {
  const points = (['direct', 'indirect', 'brk'] as const).map(algorithm => pointOf(peers, algorithm, queries))
  const [direct, , brk] = points
  return {
    summary: {
      peers,
      minutes,
      processorMinutes: used,
      gigabytes,
      events,
      departures,
      factorDirect: brk!.responseMs / direct!.responseMs,
    },
    points,
    tables: [
      {
        title: `${peers} peers for ${durationMs / 3_600_000} h: ${events} events, ${departures} departures, in ${minutes.toFixed(1)} minutes and ${gigabytes.toFixed(2)} GiB`,
        columns: ['algorithm', 'response time, s', 'messages', 'replicas', 'reported as current', 'latest', 'queries'],
        rows: points.map(p => [
          ...[p.algorithm, p.responseMs / 1000, p.messages, p.replicas, p.current, p.latest, p.queries],
        ]),
      },
    ],
    plots: [],
    verdicts: [
      {
        claim: `the run takes no more than ${MINUTES_MAX} minutes of one processor and ${GIGABYTES_MAX} GiB`,
        holds: used < MINUTES_MAX && gigabytes < GIGABYTES_MAX,
        detail: `${used.toFixed(1)} minutes (${minutes.toFixed(1)} passed), ${gigabytes.toFixed(2)} GiB, ${Math.round(events / used / 60_000)} thousand events a second`,
      },
      {
        claim: 'UMS-Direct is faster than BRK',
        holds: direct!.responseMs < brk!.responseMs / 2,
        detail: `${(brk!.responseMs / direct!.responseMs).toFixed(1)} times`,
      },
    ],
  }
}
