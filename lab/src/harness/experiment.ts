/**
 * What an experiment is: one claim of a paper, tested again with our code, next to the paper's own figures.
 *
 * An experiment is a pure function of its context, except for measured durations: the same seed gives the same result. It
 * prints nothing; the command prints tables and verdicts, draws the plots and writes the JSON.
 */
import type { Chart } from './chart.js'
import type { Entry } from './entry.js'
import type { Random } from './random.js'

/** May be called as often as you like; it is drawn a few times per second. */
export type Progress = (done: number, total: number, label?: string) => void

export interface ExperimentContext {
  /** Fewer repetitions, the same claims. */
  readonly quick: boolean
  readonly seed: number
  /** A generator seeded with `seed`; each experiment gets a fresh one. */
  readonly random: Random
  readonly progress: Progress
}

export type Cell = string | number | boolean | undefined

export interface Table {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

export interface Plot {
  /** kebab-case: the plot is written to lab/results/EXPERIMENT/NAME.svg. */
  readonly name: string
  readonly chart: Chart
}

export interface Verdict {
  readonly claim: string
  readonly holds: boolean
  /** The figures behind it. */
  readonly detail: string
}

export interface ExperimentResult {
  /** Goes to the top level of the JSON. */
  readonly summary: Readonly<Record<string, unknown>>
  readonly tables: readonly Table[]
  readonly plots: readonly Plot[]
  readonly verdicts: readonly Verdict[]
  /** The points of the curves, for readers of the JSON who want to draw them again. */
  readonly points?: readonly unknown[]
}

export interface Experiment {
  /** The paper and figure, for example "Gessert and Bücklers 2012, figure 48". */
  readonly source: string
  run(context: ExperimentContext): Promise<ExperimentResult>
}

export type ExperimentEntry = Entry<Experiment>
