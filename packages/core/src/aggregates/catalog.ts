/** The tables that there are, as a shard has them. */
import type { ValueType } from './sql-tree.js'

export interface Column extends ValueType {
  readonly name: string
}

export interface Catalog {
  readonly tables: ReadonlyMap<string, readonly Column[]>
  /** Whether text that is not binary is ordered as its bytes are: PostgreSQL with the collation C. */
  readonly isTextOrderedByBytes: boolean
}
