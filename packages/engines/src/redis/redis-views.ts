/**
 * Reads of one state, of the primary or of a replica. Redis has no snapshots: `redis-view.ts` detects that the state has moved.
 */
import type { Subject, View } from '@freshet/store/engine'
import { type KnownIndexes, NO_INDEXES } from './declared-indexes.js'
import type { RedisReader } from './read-state.js'
import { RedisView, StateMoved } from './redis-view.js'

export interface RedisViewsOptions {
  readonly reader: RedisReader
  readonly known: KnownIndexes
  /** Whether `known` learns the indexes that a view found. Those of a replica may be behind. */
  readonly learns: boolean
}

const GROWTH = 4

export class RedisViews {
  readonly #options: RedisViewsOptions

  constructor(options: RedisViewsOptions) {
    this.#options = options
  }

  /** Begins again when the state has moved, and fetches more in one read each time, so that soon one read is enough. */
  async inOneState<Result>(subject: Subject, read: (view: View) => Promise<Result>): Promise<Result> {
    const { reader, known, learns } = this.#options
    const { bucket } = subject
    let declared = bucket === undefined ? NO_INDEXES : known.of(bucket)
    for (let growth = 1; ; growth *= GROWTH) {
      const view = new RedisView({ reader, subject, declared, growth })
      try {
        return await read(view)
      } catch (error) {
        if (!(error instanceof StateMoved)) throw error
      } finally {
        if (learns && bucket !== undefined && view.declared !== declared) known.learn(bucket, view.declared)
        declared = view.declared
      }
    }
  }
}
