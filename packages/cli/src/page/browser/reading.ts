/** One answer that a reader got, with everything that the page shows of it. */
import type { Product } from './products.js'
import type { Source } from './tally.js'

export interface Reading {
  readonly id: string
  /** Undefined if there is no such object. */
  readonly product: Product | undefined
  readonly version: number
  readonly source: Source
  /** Path and query. */
  readonly url: string
  /** The time since a server made the answer. */
  readonly ageMs: number
  /** How long caches may keep it. */
  readonly lifetimeMs: number
  /** When the read began, by the clock of this machine. */
  readonly beganMs: number
}
