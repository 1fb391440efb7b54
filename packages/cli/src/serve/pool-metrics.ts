/**
 * One answer to `/metrics` for all workers: the worker that gets the request asks the primary, which asks the other workers.
 *
 * Invariant: a counter never goes back, since a monitor would take that for a restart and count everything again. So the last
 * figures of each worker are kept: they are used if it does not answer in time, and its counters are kept when it dies.
 */
import { addUpMetrics, type MetricFamily } from '@freshet/server'
import { PoolQuestions } from './pool-questions.js'

type Figures = readonly MetricFamily[]

export interface PoolMetricsOptions {
  /** The workers that answer requests, by an id that is never reused. */
  readonly workers: () => readonly number[]
  /** Asks a worker. Pass its answer, if any, to `answered`. */
  readonly ask: (worker: number, question: number) => void
  readonly waitMsMax: number
}

export class PoolMetrics {
  readonly #options: PoolMetricsOptions
  readonly #latest = new Map<number, Figures>()
  readonly #questions: PoolQuestions<undefined, Figures>
  #ofTheDead: Figures = []

  constructor(options: PoolMetricsOptions) {
    this.#options = options
    this.#questions = new PoolQuestions(options)
  }

  /** The metrics of all workers together. `own` are those of the worker that was asked. */
  async collect(asked: number, own: Figures): Promise<Figures> {
    this.#note(asked, own)
    const others = this.#options.workers().filter(worker => worker !== asked)
    const answered = await Promise.all(others.map(worker => this.#ask(worker)))
    const silent = answered.filter(hasAnswered => !hasAnswered).length
    return addUpMetrics([
      ...this.#latest.values(),
      this.#ofTheDead,
      [workersFamily(1 + others.length - silent, silent)],
    ])
  }

  answered(question: number, figures: Figures): void {
    this.#questions.answered(question, figures)
  }

  /** The worker has ended. */
  ended(worker: number): void {
    const counters = this.#latest.get(worker)?.filter(({ type }) => type !== 'gauge') ?? []
    this.#latest.delete(worker)
    this.#ofTheDead = addUpMetrics([this.#ofTheDead, counters])
  }

  #note(worker: number, figures: Figures): void {
    // A worker that has died since is counted among the dead.
    if (this.#options.workers().includes(worker)) this.#latest.set(worker, figures)
  }

  /** Whether it answered in time. */
  async #ask(worker: number): Promise<boolean> {
    const figures = await this.#questions.ask(worker, undefined)
    if (figures) this.#note(worker, figures)
    return figures !== undefined
  }
}

function workersFamily(answering: number, silent: number): MetricFamily {
  const name = 'freshet_workers'
  return {
    name,
    type: 'gauge',
    help: 'Workers, and whether they answered for this scrape; for those that did not, all metrics use their last answer.',
    together: 'sum',
    lines: [
      [`${name}{answered="yes"}`, answering],
      [`${name}{answered="no"}`, silent],
    ],
  }
}
