/**
 * Algorithm 1 of venkateswaran, with an addition: a result is returned only after its versions were compared, never before.
 *
 *   ask all shards concerned; each answers with versions, from the snapshot that its rows are from
 *   up to 5 rounds: ask shards that are behind again, once they have caught up; to find that out takes no query
 *   then: hold the arbitrator's log, bring the shards up to its end, ask those that were behind again, release the log
 *
 * The shards are asked either for all rows (`ShardAnswer`), or for a snapshot that rows are read from later (`ShardSnapshot`). An
 * open snapshot keeps its shard from changing the schema; so useless snapshots are released before anything is waited for.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { FreshetError } from '@freshet/protocol'
import type { Arbitrator } from '../arbitrator/arbitrator.js'
import type { PlacedPlan } from '../placement/placed-database.js'
import { RowPlaces } from '../placement/row-places.js'
import type { ShardedDatabase } from '../placement/sharded-database.js'
import { judgeMatrix, type Shard, type ShardVersions, type Versions } from '../plan/index.js'
import { SharedHold } from './shared-hold.js'

export interface Agreed<Answer> {
  /** In the order of the shards asked. */
  readonly answers: readonly Answer[]
  readonly versions: Versions
}

export interface AgreeOptions<Answer> {
  /** All global writes up to here must be in the result. */
  readonly floor: number
  /** By `performance.now()`. */
  readonly deadlineMs: number
  /** Answers that are known already, at the places of their shards. */
  readonly known?: readonly Answer[]
  /** Asks the shards at these places, and puts their answers at the same places of `answers`. */
  readonly ask: (places: readonly number[], answers: Answer[]) => Promise<unknown>
  /**
   * Releases answers that are of no use, although their versions still count. Returns the places of those that must be asked
   * again if they are needed after all.
   */
  readonly letGo: (places: readonly number[], answers: readonly Answer[]) => Promise<readonly number[]>
}

const ROUNDS_MAX = 5
const HELD_ROUNDS_MAX = 2
const FIRST_PAUSE_MS = 2

export class StateAgreement {
  readonly #arbitrator: Arbitrator
  readonly #hold: SharedHold
  readonly #places: RowPlaces
  /** How often a shard was asked again. */
  refetches = 0

  constructor(arbitrator: Arbitrator, database: ShardedDatabase) {
    this.#arbitrator = arbitrator
    this.#hold = new SharedHold(database.log)
    this.#places = new RowPlaces(database)
  }

  /** How often the log had to be held. */
  get holds(): number {
    return this.#hold.holds
  }

  /** Throws SHARD_UNAVAILABLE, SHARD_UNUSABLE, SHARDS_UNSETTLED, and what `ask` throws. */
  async reach<Answer extends ShardVersions>(plan: PlacedPlan, options: AgreeOptions<Answer>): Promise<Agreed<Answer>> {
    const { floor, known = [], ask, letGo, deadlineMs } = options
    const { tables, servers } = plan
    const answers = [...known]
    const missing = [...servers.keys()].filter(i => answers[i] === undefined)
    await this.#places.confirm(
      missing.map(i => servers[i]!),
      leftMs(deadlineMs),
    )
    await ask(missing, answers)
    for (let round = 1; ; round++) {
      const verdict = judgeMatrix(answers, { tables, floor })
      if (verdict.kind === 'consistent') return { answers, versions: verdict.versions }
      if (round === ROUNDS_MAX) return this.#reachHolding(plan, answers, options)
      await letGo(verdict.shards, answers)
      await delay(FIRST_PAUSE_MS * 2 ** (round - 1))
      const ready = await caughtUp(plan, verdict.shards, verdict.position)
      this.refetches += ready.length
      await ask(ready, answers)
    }
  }

  async #reachHolding<Answer extends ShardVersions>(
    plan: PlacedPlan,
    answers: Answer[],
    { floor, deadlineMs, ask, letGo }: AgreeOptions<Answer>,
  ): Promise<Agreed<Answer>> {
    const gone = await letGo([...plan.servers.keys()], answers)
    const { head, release } = await this.#hold.join(leftMs(deadlineMs))
    try {
      if (floor > head)
        throw unsettled(`the query is for position ${floor}, and the log ends at ${head}`, { position: head })
      await Promise.all(plan.servers.map(shard => this.#bringTo(shard, head, deadlineMs)))
      await ask(gone, answers)
      // Shards that were ahead may now be behind the others.
      for (let round = 1; ; round++) {
        const verdict = judgeMatrix(answers, { tables: plan.tables, floor })
        if (verdict.kind === 'consistent') return { answers, versions: verdict.versions }
        if (round > HELD_ROUNDS_MAX)
          throw unsettled(`${namesOf(plan, verdict.shards)} could not be brought up to date in time`, {})
        await letGo(verdict.shards, answers)
        await ask(verdict.shards, answers)
      }
    } finally {
      await release()
    }
  }

  async #bringTo(shard: Shard, head: number, deadlineMs: number): Promise<void> {
    for (;;) {
      const left = leftMs(deadlineMs)
      const late = delay(left, undefined, { ref: false })
      const reached = await Promise.race([this.#arbitrator.bringUpToDate(shard), late])
      if (reached === undefined)
        throw unsettled(`${shard.name} was not brought up to date in time`, { shard: shard.name })
      if (reached >= head) return
      // The shard waits for another one, which takes rows from it.
      await delay(FIRST_PAUSE_MS)
    }
  }
}

/** The places of the shards that have applied the log up to this position. */
async function caughtUp(
  { servers }: PlacedPlan,
  places: readonly number[],
  position: number,
): Promise<readonly number[]> {
  const states = await Promise.all(places.map(place => servers[place]!.state()))
  return places.filter((_, i) => states[i]!.applied >= position && !states[i]!.isChanging)
}

function namesOf({ servers }: PlacedPlan, places: readonly number[]): string {
  return places.map(place => servers[place]!.name).join(', ')
}

export function leftMs(deadlineMs: number): number {
  return Math.max(1, deadlineMs - performance.now())
}

export function unsettled(why: string, details: Readonly<Record<string, unknown>>): FreshetError {
  return new FreshetError('SHARDS_UNSETTLED', `The shards have no common state at the moment: ${why}. Try again.`, {
    details: { ...details, retryAfterS: 1 },
  })
}
