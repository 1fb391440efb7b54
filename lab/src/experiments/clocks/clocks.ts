/**
 * Clocks at work: what Lamport's, vector and hybrid clocks say about the order of events connected by messages, and how far off
 * Cristian's and NTP's estimates of another clock are, against their bounds.
 *
 * The lecture notes that we follow print Cristian's error with a sign slip, (RTT - min2 + min1) / 2. It is measured as well, to
 * show the effect.
 */
import {
  compareHybrid,
  compareVectors,
  cristianOffset,
  errorOf,
  HYBRID_ZERO,
  type HybridTime,
  middleOf,
  ntpOffset,
  OffsetFilter,
  type OffsetRange,
  receiveHybrid,
  receiveLamport,
  receiveVector,
  resynchroniseEvery,
  tickHybrid,
  tickLamport,
  tickVector,
  type VectorClock,
} from '@freshet/core/clock'
import type { Experiment, ExperimentContext, ExperimentResult, Table, Verdict } from '../../harness/experiment.js'
import type { Random } from '../../harness/random.js'

const PROCESSES = ['a', 'b', 'c', 'd', 'e']
const SKEW_MS_MAX = 50
const MESSAGE_SHARE = 0.3
const DRIFT_MAX = 0.0001
const THERE_MS_MIN = 5

interface Event {
  readonly process: string
  readonly lamport: number
  readonly vector: VectorClock
  readonly hybrid: HybridTime
  readonly realMs: number
  /** Indexes, in the list, of all events that happened before. */
  readonly past: ReadonlySet<number>
}

interface OrderCounts {
  readonly pairs: number
  readonly before: number
  readonly vectorWrong: number
  readonly lamportWrong: number
  readonly lamportOrdered: number
  readonly hybridWrong: number
  readonly hybridAheadMs: number
}

interface Estimate {
  readonly name: string
  readonly errorMs: number
  readonly boundMs: number
  readonly outside: number
  readonly exchanges: number
}

export const clocks: Experiment = {
  source: 'lecture notes on time and ordering; Lamport 1978, Cristian 1989, Mills 1991, Kulkarni and others 2014',
  run: async context => toResult(order(context), estimates(context)),
}

function order({ quick, random, progress }: ExperimentContext): OrderCounts {
  const events = happen(random, quick ? 300 : 1500)
  const counts = { pairs: 0, before: 0, vectorWrong: 0, lamportWrong: 0, lamportOrdered: 0, hybridWrong: 0 }
  events.forEach((a, i) => {
    progress(i, events.length, 'pairs of events')
    for (const b of events.slice(i + 1)) compare(counts, a, b, b.past.has(i))
  })
  return { ...counts, hybridAheadMs: Math.max(...events.map(({ hybrid, realMs }) => hybrid.timeMs - realMs)) }
}

/** b comes later in the list, so it cannot have happened before a. */
function compare(counts: Record<string, number>, a: Event, b: Event, isBefore: boolean): void {
  counts.pairs!++
  if (isBefore) counts.before!++
  if ((compareVectors(a.vector, b.vector) === 'before') !== isBefore) counts.vectorWrong!++
  if (isBefore && a.lamport >= b.lamport) counts.lamportWrong!++
  if (!isBefore && a.lamport !== b.lamport) counts.lamportOrdered!++
  if (isBefore && compareHybrid(a.hybrid, b.hybrid) >= 0) counts.hybridWrong!++
}

/** Events of processes whose clocks are off by up to the skew; some are the arrival of an earlier event's message. */
function happen(random: Random, count: number): Event[] {
  const skews = new Map(PROCESSES.map((process, i) => [process, SKEW_MS_MAX * ((2 * i) / (PROCESSES.length - 1) - 1)]))
  const last = new Map<string, number>()
  const events: Event[] = []
  let realMs = 0
  for (let i = 0; i < count; i++) {
    realMs += random.exponential(1)
    const process = random.pick(PROCESSES)
    const own = last.get(process)
    const sent = i > 0 && random.float() < MESSAGE_SHARE ? random.below(i) : undefined
    events.push(eventOf(events, process, own, sent, realMs, realMs + skews.get(process)!))
    last.set(process, i)
  }
  return events
}

function eventOf(
  events: readonly Event[],
  process: string,
  ownIndex: number | undefined,
  sentIndex: number | undefined,
  realMs: number,
  clockMs: number,
): Event {
  const [own, sent] = [ownIndex, sentIndex].map(index => (index === undefined ? undefined : events[index]))
  const past = new Set<number>()
  for (const index of [ownIndex, sentIndex]) {
    if (index === undefined) continue
    past.add(index)
    for (const earlier of events[index]!.past) past.add(earlier)
  }
  const [lamport, vector, hybrid] = [own?.lamport ?? 0, own?.vector ?? {}, own?.hybrid ?? HYBRID_ZERO]
  return {
    ...{ process, realMs, past },
    lamport: sent ? receiveLamport(lamport, sent.lamport) : tickLamport(lamport),
    vector: sent ? receiveVector(vector, process, sent.vector) : tickVector(vector, process),
    hybrid: sent ? receiveHybrid(hybrid, sent.hybrid, clockMs, 2 * SKEW_MS_MAX)! : tickHybrid(hybrid, clockMs),
  }
}

/** Our clock is right; the server's has an offset and drifts. The way back is known to take longer than the way there. */
function estimates({ quick, random }: ExperimentContext): Estimate[] {
  const exchanges = quick ? 2000 : 20_000
  const [thereMin, backMin] = [THERE_MS_MIN, 25]
  const filter = new OffsetFilter({ driftMax: DRIFT_MAX, samplesMax: 8 })
  const tallies = ['Cristian', 'Cristian, delays known', 'the error as printed', 'NTP', 'NTP, best of 8'].map(tallyOf)
  const everyMs = resynchroniseEvery(1, DRIFT_MAX)
  for (let i = 0, realMs = 0; i < exchanges; i++) {
    realMs += random.exponential(1 / everyMs)
    const server = (atMs: number) => 7_000_000 + atMs * (1 + DRIFT_MAX)
    const asked = realMs
    const receivedMs = asked + thereMin + random.exponential(1 / 10)
    const sentMs = receivedMs + random.exponential(1 / 5)
    const answered = sentMs + backMin + random.exponential(1 / 10)
    realMs = answered
    const known = { asked, answered, server: server(sentMs), thereMin, backMin }
    const ntp = ntpOffset({ asked, received: server(receivedMs), sent: server(sentMs), answered })
    filter.add(ntp, answered)
    const cristian = cristianOffset(known)
    const middle = middleOf(cristian)
    const printed = (answered - asked - backMin + thereMin) / 2
    const ranges = [
      cristianOffset({ ...known, thereMin: 0, backMin: 0 }),
      cristian,
      { least: middle - printed, most: middle + printed },
      ntp,
      filter.at(answered),
    ]
    const truth = server(answered) - answered
    for (const [j, range] of ranges.entries()) tallies[j]!.add(range, truth)
  }
  return tallies.map(tally => tally.estimate(exchanges))
}

function tallyOf(name: string) {
  let [error, bound, outside] = [0, 0, 0]
  return {
    add: (range: OffsetRange, truth: number) => {
      const off = Math.abs(truth - middleOf(range))
      error += off
      bound += errorOf(range)
      // While an exchange is under way the clocks also drift, by some microseconds.
      if (off > errorOf(range) + 0.1) outside++
    },
    estimate: (exchanges: number): Estimate => ({
      ...{ name, errorMs: error / exchanges, boundMs: bound / exchanges, outside, exchanges },
    }),
  }
}

function toResult(orders: OrderCounts, guesses: readonly Estimate[]): ExperimentResult {
  return {
    summary: { ...orders, skewMsMax: SKEW_MS_MAX },
    points: guesses,
    tables: [orderTable(orders), estimateTable(guesses)],
    plots: [
      {
        name: 'error-of-estimates',
        chart: {
          ...{
            kind: 'bars',
            title: 'The error of estimates of another clock',
            categories: guesses.map(g => g.name),
          },
          y: { name: 'ms', min: 0 },
          series: [
            { name: 'error, mean', values: guesses.map(guess => guess.errorMs) },
            { name: 'bound, mean', values: guesses.map(guess => guess.boundMs) },
          ],
        },
      },
    ],
    verdicts: verdictsOf(orders, guesses),
  }
}

function orderTable({ pairs, before, vectorWrong, lamportWrong, lamportOrdered, hybridWrong }: OrderCounts): Table {
  return {
    title: `${pairs} pairs of events, in ${before} of which one event happened before the other`,
    columns: ['clock', 'order missed or reversed', 'concurrent but ordered'],
    rows: [
      ['vector', vectorWrong, 0],
      ['Lamport', lamportWrong, lamportOrdered],
      ['hybrid', hybridWrong, pairs - before],
    ],
  }
}

function estimateTable(guesses: readonly Estimate[]): Table {
  return {
    title: 'The offset of another clock',
    columns: ['method', 'error, mean ms', 'bound, mean ms', 'truth outside the bound', 'exchanges'],
    rows: guesses.map(guess => [guess.name, guess.errorMs, guess.boundMs, guess.outside, guess.exchanges]),
  }
}

function verdictsOf(orders: OrderCounts, guesses: readonly Estimate[]): Verdict[] {
  const [plain, known, printed, ntp, best] = guesses
  return [
    {
      claim: 'vector clocks give the exact order of events; Lamport and hybrid clocks never contradict it',
      holds: orders.vectorWrong + orders.lamportWrong + orders.hybridWrong === 0 && orders.before > 0,
      detail: `${orders.pairs} pairs; Lamport clocks also order ${orders.lamportOrdered} concurrent pairs`,
    },
    {
      claim: 'hybrid clocks run ahead of real time by no more than the worst clock does',
      holds: orders.hybridAheadMs <= SKEW_MS_MAX + 1e-6,
      detail: `${orders.hybridAheadMs.toFixed(1)} ms, clocks are off by up to ${SKEW_MS_MAX} ms`,
    },
    {
      claim: 'the true offset is always within the bounds',
      holds: [plain, known, ntp, best].every(guess => guess!.outside === 0),
      detail: `${plain!.exchanges} exchanges; mean bounds ${[plain, known, ntp, best].map(g => g!.boundMs.toFixed(1)).join(', ')} ms`,
    },
    {
      claim: "with the notes' sign in Cristian's error, knowing the minimum delay there makes the bound wider",
      holds: Math.abs(printed!.boundMs - known!.boundMs - THERE_MS_MIN) < 1e-6,
      detail: `by ${(printed!.boundMs - known!.boundMs).toFixed(1)} ms, with a delay of at least ${THERE_MS_MIN} ms`,
    },
  ]
}
