/** Checks that each result over shards is of one state, and that none goes backwards. Also shows how a naive reader fares. */
import type { Experiment, ExperimentContext, ExperimentResult } from '../../harness/experiment.js'
import { runTruth, type TruthResult } from '../../shard-load/run-truth.js'

const RESULTS = { full: 100_000, quick: 3000 }
const FAULT_MS = { full: 5000, quick: 3000 }

export const aggTruth: Experiment = {
  source: 'Venkateswaran et al. 2018, section 3; the paper has no such experiment',
  run: async context => toResult(await measure(context)),
}

function measure({ quick, random, progress }: ExperimentContext): Promise<TruthResult> {
  const results = RESULTS[quick ? 'quick' : 'full']
  const faultMs = FAULT_MS[quick ? 'quick' : 'full']
  return runTruth({
    results,
    random,
    faultMs,
    onProgress: (done, label) => progress(Math.min(done, results), results, label),
  })
}

function toResult(result: TruthResult): ExperimentResult {
  const {
    results,
    inconsistent,
    backwards,
    naiveResults,
    naiveInconsistent,
    naiveBackwards,
    writes,
    wrongWrites,
    ...rest
  } = result
  return {
    summary: {
      results,
      inconsistent,
      backwards,
      naiveInconsistent,
      naiveBackwards,
      naiveResults,
      writes,
      wrongWrites,
      ...rest,
    },
    tables: [
      {
        title: 'Three MariaDB shards, two Freshet servers, two clients that write to all shards, faster and faster',
        columns: ['reader', 'results', 'of several states', 'backwards'],
        rows: [
          ['sessions', results, inconsistent, backwards],
          ['naive fan-out', naiveResults, naiveInconsistent, naiveBackwards],
        ],
      },
      {
        title: 'Meanwhile',
        columns: ['what', 'how often'],
        rows: [
          ['global writes', writes],
          ...Object.entries(rest.faults),
          ['shards queried again', rest.refetches],
          ['times the log was paused', rest.logHolds],
          ['queries without an answer', rest.unanswered],
        ],
      },
    ],
    plots: [],
    verdicts: [
      {
        claim: 'every result is of one state, and none goes backwards',
        holds: inconsistent === 0 && backwards === 0,
        detail: `${inconsistent} and ${backwards} of ${results}`,
      },
      {
        claim: 'every acknowledged global write is in the log exactly once',
        holds: wrongWrites === 0,
        detail: `${wrongWrites} of ${writes}`,
      },
      {
        claim: 'writes came so fast that the log had to be paused',
        holds: rest.logHolds > 0,
        detail: `${rest.logHolds} times`,
      },
      {
        claim: 'the naive fan-out returns results of several states, and goes backwards',
        holds: naiveInconsistent > 0 && naiveBackwards > 0,
        detail: `${naiveInconsistent} and ${naiveBackwards} of ${naiveResults}`,
      },
    ],
  }
}
