/** What a bench is: our code and its peers, measured side by side. Durations depend on the machine; ratios much less. */
import type { Progress, Table } from './experiment.js'

export interface BenchContext {
  /** Fewer keys and rounds. */
  readonly quick: boolean
  readonly seed: number
  readonly progress: Progress
}

export interface BenchResult {
  /** Goes to the top level of the JSON. */
  readonly summary: Readonly<Record<string, unknown>>
  readonly tables: readonly Table[]
  /** What a reader must know to read the tables rightly, and the result in words. */
  readonly notes: readonly string[]
}

export interface Bench {
  /** kebab-case, as typed after `npm run bench --`. */
  readonly name: string
  readonly title: string
  run(context: BenchContext): Promise<BenchResult>
}

/** A line of the list: enough to show it without loading the bench and the peers it measures. */
export interface BenchEntry {
  readonly name: string
  readonly title: string
  load(): Promise<Bench>
}
