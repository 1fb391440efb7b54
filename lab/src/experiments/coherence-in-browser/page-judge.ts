/**
 * Judges what a page's readers did, step by step, against the history of all writes. A page's time is one of a range of times
 * by our clock. The judge takes the more lenient end: a read began early, a write was acknowledged late.
 */
import { type OpenRead, ReadChecker, SessionRecord } from '../../coherence-load/read-checker.js'
import type { RecordedHistory } from '../../coherence-load/recorded-history.js'
import type { ClockBounds } from './page-clock.js'
import type { ReaderKind, Step, Verdict } from './page-protocol.js'

export interface PageJudgeOptions {
  readonly history: RecordedHistory
  readonly clock: ClockBounds
  /** The kind of each reader, by its number. */
  readonly kinds: readonly ReaderKind[]
  readonly onUrl: (url: string) => void
}

export class PageJudge {
  readonly checkers: Readonly<Record<ReaderKind, ReadChecker>>
  /** The messages of reads that got no answer. */
  readonly failures: string[] = []
  readonly #options: PageJudgeOptions
  readonly #records: readonly SessionRecord[]
  readonly #open = new Map<number, OpenRead>()
  #waiting: Step[] = []

  constructor(options: PageJudgeOptions) {
    this.#options = options
    this.checkers = { session: new ReadChecker(options.history), plain: new ReadChecker(options.history) }
    this.#records = options.kinds.map(() => new SessionRecord())
  }

  get verdicts(): Readonly<Record<ReaderKind, Verdict>> {
    const { session, plain } = this.checkers
    return {
      session: { checked: session.reads, stale: session.violationCount },
      plain: { checked: plain.reads, stale: plain.violationCount },
    }
  }

  /** Records the writes among the steps. They may concern the readers of other pages, so no read is judged yet. */
  add(steps: readonly Step[]): void {
    const { history, clock } = this.#options
    for (const step of steps) {
      if (step.kind === 'wrote') {
        history.acknowledgePut(step.id, step.position, step.number, step.timeMs + clock.mostMs)
      }
      this.#waiting.push(step)
    }
  }

  /** Judges what happened up to then, by our clock. The history must know all writes acknowledged by then. */
  judge(untilMs: number): void {
    const isLater = ({ timeMs }: Step) => timeMs + this.#options.clock.leastMs > untilMs
    const first = this.#waiting.findIndex(isLater)
    const count = first === -1 ? this.#waiting.length : first
    for (const step of this.#waiting.splice(0, count)) this.#take(step)
  }

  #take(step: Step): void {
    const { clock, kinds } = this.#options
    const record = this.#records[step.reader]!
    const checker = this.checkers[kinds[step.reader]!]
    const timeMs = step.timeMs + clock.leastMs
    if (step.kind === 'wrote') {
      record.wrote.set(step.id, Math.max(step.position, record.wrote.get(step.id) ?? 0))
    } else if (step.kind === 'begin') {
      this.#open.set(step.read, checker.begin(step.id, record, step.what, step.ageMs, timeMs))
    } else {
      const read = this.#open.get(step.read)!
      this.#open.delete(step.read)
      if (step.kind === 'fail') {
        this.failures.push(step.message)
      } else {
        checker.end(read, step.found, { url: step.url }, timeMs)
        this.#options.onUrl(step.url)
      }
    }
  }
}
