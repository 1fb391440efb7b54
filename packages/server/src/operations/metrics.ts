/**
 * Counters, in the text format that Prometheus reads. Plain fields that are added to, since the read path cannot afford
 * a lookup by labels for each request; the labels are put on when somebody asks.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'

export class Counter {
  value = 0
}

/** Upper bounds, in seconds, of the latencies counted. */
const BOUNDS_S: readonly number[] = [
  0.000_05, 0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5,
]

export class Histogram {
  readonly counts: number[] = new Array<number>(BOUNDS_S.length + 1).fill(0)
  sumMs = 0

  observe(tookMs: number): void {
    const seconds = tookMs / 1000
    let i = 0
    while (i < BOUNDS_S.length && seconds > BOUNDS_S[i]!) i++
    this.counts[i]!++
    this.sumMs += tookMs
  }
}

export interface Gauge {
  readonly name: string
  readonly help: string
  /** Default gauge. */
  readonly type?: 'gauge' | 'counter'
  /** Several, where labels tell them apart: `cache="edge"`. */
  readonly value: () => number | readonly LabelledValue[]
}

export interface LabelledValue {
  readonly labels: string
  readonly value: number
}

const NANOSECONDS = 1e9

export class Metrics {
  readonly #requests = new Map<string, Counter>()
  readonly #latencies = new Map<string, Histogram>()
  readonly #delay = monitorEventLoopDelay({ resolution: 20 })
  readonly originReads: Counter = new Counter()
  readonly notModified: Counter = new Counter()
  readonly commits: Counter = new Counter()
  readonly conflicts: Counter = new Counter()

  constructor() {
    this.#delay.enable()
  }

  requests(route: string, method: string, status: number): Counter {
    return cell(this.#requests, `route="${route}",method="${method}",status="${status}"`, () => new Counter())
  }

  latency(route: string): Histogram {
    return cell(this.#latencies, `route="${route}"`, () => new Histogram())
  }

  countRequest(route: string, method: string, status: number, tookMs: number): void {
    this.requests(route, method, status).value++
    this.latency(route).observe(tookMs)
    if (status === 304) this.notModified.value++
  }

  close(): void {
    this.#delay.disable()
  }

  render(gauges: readonly Gauge[]): string {
    const lines = [
      ...family('freshet_requests_total', 'counter', 'Requests answered.'),
      ...[...this.#requests].map(([labels, { value }]) => `freshet_requests_total{${labels}} ${value}`),
      ...family('freshet_request_seconds', 'histogram', 'From the request to the end of its answer.'),
      ...[...this.#latencies].flatMap(([labels, histogram]) => histogramLines(labels, histogram)),
      ...counterLines('freshet_origin_reads_total', 'Objects read from the store for a GET.', this.originReads),
      ...counterLines('freshet_not_modified_total', 'Answers 304: the reader had it already.', this.notModified),
      ...counterLines('freshet_commits_total', 'Commits made.', this.commits),
      ...counterLines('freshet_conflicts_total', 'Commits refused because something had changed.', this.conflicts),
      ...gauges.flatMap(gaugeLines),
      ...this.#delayLines(),
    ]
    return `${lines.join('\n')}\n`
  }

  #delayLines(): string[] {
    const name = 'freshet_event_loop_lag_seconds'
    const lagOf = (nanoseconds: number) => (Number.isFinite(nanoseconds) ? nanoseconds / NANOSECONDS : 0)
    const lines = [50, 99].map(p => `${name}{quantile="${p / 100}"} ${lagOf(this.#delay.percentile(p))}`)
    this.#delay.reset()
    return [...family(name, 'gauge', 'How late timers were since the last scrape.'), ...lines]
  }
}

function cell<T>(cells: Map<string, T>, labels: string, create: () => T): T {
  const known = cells.get(labels)
  if (known !== undefined) return known
  const created = create()
  cells.set(labels, created)
  return created
}

function family(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
}

function counterLines(name: string, help: string, { value }: Counter): string[] {
  return [...family(name, 'counter', help), `${name} ${value}`]
}

function gaugeLines({ name, help, type = 'gauge', value }: Gauge): string[] {
  const now = value()
  const lines =
    typeof now === 'number' ? [`${name} ${now}`] : now.map(({ labels, value }) => `${name}{${labels}} ${value}`)
  return [...family(name, type, help), ...lines]
}

function histogramLines(labels: string, { counts, sumMs }: Histogram): string[] {
  const name = 'freshet_request_seconds'
  let total = 0
  const lines = counts.map((count, i) => {
    total += count
    return `${name}_bucket{${labels},le="${BOUNDS_S[i] ?? '+Inf'}"} ${total}`
  })
  return [...lines, `${name}_sum{${labels}} ${sumMs / 1000}`, `${name}_count{${labels}} ${total}`]
}
