/** What a bench is: our code and its peers, measured side by side. Durations depend on the machine; ratios much less. */
import type { Tree, TreeRow } from './compare-trees.js'
import type { Entry } from './entry.js'
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
  /** What a reader must know to understand the tables, and the result in words. */
  readonly notes: readonly string[]
}

export interface Bench {
  run(context: BenchContext): Promise<BenchResult>
  /** Measures the code of two trees, this tree and another revision, in the same rounds. */
  compare?(context: BenchContext, trees: readonly Tree[]): Promise<readonly TreeRow[]>
}

export type BenchEntry = Entry<Bench>
