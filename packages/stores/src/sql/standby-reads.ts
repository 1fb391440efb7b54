/**
 * Reads from standbys of the database, which are never older than those from the database itself.
 *
 * A standby applies what the primary has committed, in the order of commits, some time later. How far it has come it says with each
 * read, in the same state: the position of the store's own head, as every statement that reads has it. So nothing has to be known of
 * how the engine counts (LSN, GTID), and nothing has to be believed:
 *
 *     required <= the standby's position <= what the primary has told
 *
 * On the left: it includes all that was acknowledged before the read began. `required` is what whoever reads has been told by the
 * primary before, or what the primary says now; it is asked at the same time as the standby. On the right: nobody sees what
 * the primary does not show yet, because it waits for its disk or for another standby. Where either does not hold, the primary answers.
 * After a failover positions go on from the time of day (0005), so a standby that still follows the lost primary never holds up again.
 *
 * A standby that is behind, gone, slow or not of this store is left alone until it was seen, in the background, to have caught up: so one
 * read pays for that, and not all.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Position, ReadCount } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import type { SqlReader, SqlStandby } from './sql-engine.js'

export interface StandbyReadsOptions {
  readonly standbys: readonly SqlStandby[]
  /** The primary's, now. */
  readonly position: () => Promise<Position>
  /** Is told when a standby is not used any more, and why. */
  readonly onWarning: (text: string) => void
}

/** Who is a little behind is asked again. */
const PAUSES_MS = [1, 2, 4, 8]
/** How often one that is left alone is looked at. */
const LOOK_MS = 100
/** A read that takes longer is the primary's. */
const ANSWER_MS_MAX = 2000

interface Followed {
  readonly standby: SqlStandby
  reads: number
  isUsed: boolean
  /** Said once, until it is well again. */
  isMissed: boolean
}

export class StandbyReads {
  readonly #options: StandbyReadsOptions
  readonly #followed: readonly Followed[]
  readonly #looks: NodeJS.Timeout | undefined
  #turn = 0
  #byPrimary = 0
  #told: Position = 0
  #isLooking = false
  #isClosed = false

  constructor(options: StandbyReadsOptions) {
    this.#options = options
    this.#followed = options.standbys.map(standby => ({ standby, reads: 0, isUsed: false, isMissed: false }))
    if (this.#followed.length > 0) this.#looks = setInterval(() => this.#look(), LOOK_MS).unref()
  }

  /**
   * What a standby answers, if one can be trusted to; else what the primary does. `atLeast`: a state that includes this position, which
   * the primary has told, is recent enough; undefined: the latest.
   */
  async read<Result>(
    atLeast: Position | undefined,
    ask: (reader: SqlReader) => Promise<Result & { readonly position: Position }>,
    askPrimary: () => Promise<Result>,
  ): Promise<Result> {
    const followed = this.#next()
    const found = followed && (await this.#readFrom(followed, atLeast, ask))
    if (found !== undefined) return found
    this.#byPrimary++
    return askPrimary()
  }

  /** The primary shows all up to here. */
  tell(position: Position): void {
    this.#told = Math.max(this.#told, position)
  }

  get isEmpty(): boolean {
    return this.#followed.length === 0
  }

  counts(): readonly ReadCount[] {
    const byStandbys = this.#followed.map(({ standby, reads }) => ({ source: standby.place, reads }))
    return [{ source: 'primary', reads: this.#byPrimary }, ...byStandbys]
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#looks)
    await Promise.all(this.#followed.map(({ standby }) => standby.close()))
  }

  #next(): Followed | undefined {
    for (let tries = 0; tries < this.#followed.length; tries++) {
      const followed = this.#followed[this.#turn++ % this.#followed.length]!
      if (followed.isUsed) return followed
    }
    return undefined
  }

  async #readFrom<Result>(
    followed: Followed,
    atLeast: Position | undefined,
    ask: (reader: SqlReader) => Promise<Result & { readonly position: Position }>,
  ): Promise<Result | undefined> {
    const { standby } = followed
    const first = within(ANSWER_MS_MAX, ask(standby))
    first.catch(() => {})
    const required = atLeast ?? (await this.#options.position())
    try {
      let found = await first
      for (const pauseMs of PAUSES_MS) {
        if (found.position >= required) break
        await delay(pauseMs)
        found = await within(ANSWER_MS_MAX, ask(standby))
      }
      if (found.position < required) followed.isUsed = false
      else if (await this.#isShown(found.position)) {
        followed.reads++
        return found
      }
    } catch (error) {
      // Of what is asked for the primary may say the same.
      if (!isRefusal(error)) this.#miss(followed, error)
    }
    return undefined
  }

  async #isShown(position: Position): Promise<boolean> {
    return position <= this.#told || position <= (await this.#options.position())
  }

  #miss(followed: Followed, error: unknown): void {
    followed.isUsed = false
    if (followed.isMissed || this.#isClosed) return
    followed.isMissed = true
    const reason = error instanceof Error ? error.message : String(error)
    this.#options.onWarning(`The replica at ${followed.standby.place} is not read from: ${reason}`)
  }

  /** Whether those that are left alone have caught up with where the primary was before they were asked. */
  async #look(): Promise<void> {
    const left = this.#followed.filter(({ isUsed }) => !isUsed)
    if (this.#isLooking || left.length === 0) return
    this.#isLooking = true
    // While the primary is gone there is nothing to read, and whoever tries is told.
    const required = await this.#options.position().catch(() => Number.POSITIVE_INFINITY)
    await Promise.all(
      left.map(async followed => {
        try {
          const { position } = await within(ANSWER_MS_MAX, followed.standby.values([]))
          followed.isMissed = false
          followed.isUsed = position >= required
        } catch (error) {
          this.#miss(followed, error)
        }
      }),
    )
    this.#isLooking = false
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof FreshetError && !error.code.startsWith('STORE_')
}

function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`nothing has come back for ${ms} ms`)), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
