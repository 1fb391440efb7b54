/**
 * Holds the log for queries that would not finish otherwise. Queries that need it at the same time hold it together: one after
 * the other, they would keep writers waiting for as long as all of them take. Once one of them is done, no other query joins, so
 * the log is released.
 */
import type { GlobalLog } from '../plan/index.js'

export interface Held {
  readonly head: number
  release(): Promise<void>
}

interface Joined {
  readonly held: Promise<Held>
  readonly untilMs: number
  users: number
}

export class SharedHold {
  readonly #log: GlobalLog
  #open: Joined | undefined
  /** How often the log was held. */
  holds = 0

  constructor(log: GlobalLog) {
    this.#log = log
  }

  /** Throws SHARD_UNAVAILABLE. The hold lasts until all have released it, or until the time of the first caller is over. */
  async join(timeoutMs: number): Promise<Held> {
    const known = this.#open
    const joined = known && known.untilMs > performance.now() + timeoutMs / 2 ? known : this.#begin(timeoutMs)
    joined.users++
    const { head, release } = await joined.held.catch(error => {
      this.#close(joined)
      throw error
    })
    return {
      head,
      release: async () => {
        this.#close(joined)
        joined.users--
        if (joined.users === 0) await release()
      },
    }
  }

  #begin(timeoutMs: number): Joined {
    this.holds++
    const joined = { held: this.#log.hold(timeoutMs), untilMs: performance.now() + timeoutMs, users: 0 }
    this.#open = joined
    return joined
  }

  #close(joined: Joined): void {
    if (this.#open === joined) this.#open = undefined
  }
}
