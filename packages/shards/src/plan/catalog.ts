/** The tables of a shard, and their columns. */
import type { ValueType } from './sql-tree.js'

export interface Column extends ValueType {
  readonly name: string
  /** The declaration on its server, to compare it with others: the exact type, the collation, whether it may be null. */
  readonly declared?: string
}

export interface Catalog {
  readonly tables: ReadonlyMap<string, readonly Column[]>
  /** Whether text that is not binary is ordered as its bytes are: PostgreSQL with the collation C. */
  readonly isTextOrderedByBytes: boolean
}
