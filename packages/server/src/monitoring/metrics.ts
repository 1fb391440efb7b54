/**
 * Metrics, in the text format of Prometheus. Counters are plain fields, since the read path cannot afford a lookup by labels
 * for each request. The labels are added when the metrics are read.
 *
 * The metrics of several processes can be combined (`addUpMetrics`), since a scrape reaches any one of them.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { FetchesByCache } from './fetches-by-cache.js'

export class Counter {
  value = 0
}

/** The upper bounds of the latency buckets, in seconds. */
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
  /** Default: gauge. */
  readonly type?: 'gauge' | 'counter'
  /**
   * How a gauge is combined over several processes. Default: max, since most gauges describe the store that the processes
   * share.
   */
  readonly together?: Together
  readonly value: ReadValue
}

/** One value, or several with different labels: `cache="edge"`. */
export type ReadValue = () => number | readonly LabelledValue[]

export interface LabelledValue {
  readonly labels: string
  readonly value: number
}

export type Together = 'sum' | 'max'

/** A gauge that only grows. */
export function counter(name: string, help: string, value: ReadValue): Gauge {
  return { name, type: 'counter', help, value }
}

export function gauge(name: string, help: string, value: ReadValue, together: Together = 'max'): Gauge {
  return { name, help, value, together }
}

/** All lines of one metric, in a form that can be sent to another process. */
export interface MetricFamily {
  readonly name: string
  readonly type: 'counter' | 'histogram' | 'gauge'
  readonly help: string
  /** How the values of several processes are combined. */
  readonly together: Together
  /** Each line: the name with its labels, and the value. */
  readonly lines: readonly (readonly [name: string, value: number])[]
}

/** Combines several processes. Lines that only some of them have are kept unchanged. */
export function addUpMetrics(processes: readonly (readonly MetricFamily[])[]): readonly MetricFamily[] {
  const families = new Map<string, { readonly family: MetricFamily; readonly lines: Map<string, number> }>()
  for (const family of processes.flat()) {
    const { lines } = cell(families, family.name, () => ({ family, lines: new Map<string, number>() }))
    for (const [name, value] of family.lines) {
      const before = lines.get(name) ?? 0
      lines.set(name, family.together === 'sum' ? before + value : Math.max(before, value))
    }
  }
  return [...families.values()].map(({ family, lines }) => ({ ...family, lines: [...lines] }))
}

export function renderMetrics(families: readonly MetricFamily[]): string {
  const lines = families.flatMap(({ name, type, help, lines }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...lines.map(([name, value]) => `${name} ${value}`),
  ])
  return `${lines.join('\n')}\n`
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
  readonly leases: Counter = new Counter()
  readonly replays: Counter = new Counter()
  readonly queries: Counter = new Counter()
  readonly queryExamined: Counter = new Counter()

  readonly ways: FetchesByCache = new FetchesByCache()

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

  read(gauges: readonly Gauge[]): readonly MetricFamily[] {
    const requests = [...this.#requests].map(
      ([labels, { value }]) => [`freshet_requests_total{${labels}}`, value] as const,
    )
    const latencies = [...this.#latencies].flatMap(([labels, histogram]) => histogramLines(labels, histogram))
    return [
      summed('freshet_requests_total', 'counter', 'Requests answered.', requests),
      summed('freshet_request_seconds', 'histogram', 'Time from the request to the end of its answer.', latencies),
      counted('freshet_origin_reads_total', 'Objects read from the store for a GET.', this.originReads),
      counted('freshet_not_modified_total', 'Answers with 304: the reader already had the object.', this.notModified),
      readGauge(
        counter(
          'freshet_fetches_total',
          'Reads below /db that were answered, by the cache that sent them; 304: the copy was there already.',
          () => this.ways.values(),
        ),
      ),
      counted('freshet_commits_total', 'Commits made.', this.commits),
      counted('freshet_conflicts_total', 'Commits refused because something had changed.', this.conflicts),
      counted('freshet_leases_total', 'Leases granted with such a refusal.', this.leases),
      counted('freshet_replays_total', 'Operations that were sent again, and got their first answer.', this.replays),
      counted('freshet_queries_total', 'Queries run, without those answered with 304.', this.queries),
      counted('freshet_query_examined_total', 'Objects examined by these queries.', this.queryExamined),
      ...gauges.map(readGauge),
      this.#readDelay(),
    ]
  }

  #readDelay(): MetricFamily {
    const name = 'freshet_event_loop_lag_seconds'
    const lagOf = (nanoseconds: number) => (Number.isFinite(nanoseconds) ? nanoseconds / NANOSECONDS : 0)
    const value = () =>
      [50, 99].map(p => ({ labels: `quantile="${p / 100}"`, value: lagOf(this.#delay.percentile(p)) }))
    const read = readGauge(gauge(name, 'How late timers fired since the last scrape.', value))
    this.#delay.reset()
    return read
  }
}

function cell<T>(cells: Map<string, T>, labels: string, create: () => T): T {
  const known = cells.get(labels)
  if (known !== undefined) return known
  const created = create()
  cells.set(labels, created)
  return created
}

function summed(name: string, type: 'counter' | 'histogram', help: string, lines: MetricFamily['lines']): MetricFamily {
  return { name, type, help, together: 'sum', lines }
}

function counted(name: string, help: string, { value }: Counter): MetricFamily {
  return summed(name, 'counter', help, [[name, value]])
}

const IN_WORDS: Readonly<Record<Together, string>> = { sum: 'their sum', max: 'the largest' }

function readGauge({ name, help, type = 'gauge', together = 'max', value }: Gauge): MetricFamily {
  const now = value()
  const lines: MetricFamily['lines'] =
    typeof now === 'number' ? [[name, now]] : now.map(({ labels, value }) => [`${name}{${labels}}`, value])
  if (type === 'counter') return summed(name, type, help, lines)
  return { name, type, help: `${help} Of several workers, ${IN_WORDS[together]}.`, together, lines }
}

function histogramLines(labels: string, { counts, sumMs }: Histogram): MetricFamily['lines'] {
  const name = 'freshet_request_seconds'
  let total = 0
  const lines = counts.map((count, i) => {
    total += count
    return [`${name}_bucket{${labels},le="${BOUNDS_S[i] ?? '+Inf'}"}`, total] as const
  })
  return [...lines, [`${name}_sum{${labels}}`, sumMs / 1000], [`${name}_count{${labels}}`, total]]
}
