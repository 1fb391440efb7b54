/**
 * Answers queries over shards: plans them (`query-planner.ts`), has the shards agree (`state-agreement.ts`), and puts together what they say.
 *
 * Where nobody writes past the log, one look at it says of what was found before whether it still holds: whole results, and what
 * single shards have answered. Results that are asked for again and again are found anew as soon as a global write has
 * outdated them. Rows that are streamed are not kept, and not answered from what is.
 */
import { FreshetError } from '@freshet/protocol'
import type { ServerSettings } from '@freshet/server/capabilities'
import type { Arbitrator } from '../arbitrator/arbitrator.js'
import type { SqlParser } from '../parse/parse-sql.js'
import type { PlacedPlan } from '../placement/placed-database.js'
import type { ShardedDatabase } from '../placement/sharded-database.js'
import {
  type MergedRows,
  mergeRows,
  type ParameterValue,
  type ShardAnswer,
  streamedMerge,
  type Versions,
} from '../plan/index.js'
import { isUntouched, LogView, type Seen } from './log-view.js'
import { PartCache } from './part-cache.js'
import { QueryPlanner } from './query-planner.js'
import { ResultMap } from './result-map.js'
import { type RowStream, streamingWay } from './row-stream.js'
import { type Agreed, leftMs, StateAgreement } from './state-agreement.js'

export interface CoordinatorOptions {
  readonly database: ShardedDatabase
  readonly arbitrator: Arbitrator
  readonly parser: () => Promise<SqlParser>
  readonly settings: ServerSettings
}

export interface AskedSql {
  readonly text: string
  readonly values: readonly ParameterValue[]
  /** All global writes up to here must be in it. */
  readonly floor: number
  /** Who asks has looked which is the last that matters: what was found before need not be looked after again. */
  readonly isFloorEnough?: boolean
}

interface KeptResult {
  readonly asked: AskedSql
  readonly result: SqlResult
  /** What it depends on. */
  readonly tables: readonly string[]
  /** All that was written to these up to here is in it. */
  readonly through: number
  /** How often it was asked for since it was found. */
  hits: number
}

export interface SqlResult extends MergedRows {
  readonly columns: readonly string[]
  readonly versions: Versions
}

/** Rows that are streamed are not counted. */
const UNLIMITED = Number.MAX_SAFE_INTEGER - 1
/** A result that was asked for so often since it was found is worth finding anew before it is asked for. */
const HITS_WANTED = 2
const REFRESHED_MAX = 50

export class QueryCoordinator {
  readonly #options: CoordinatorOptions
  readonly #results: ResultMap<KeptResult>
  readonly #parts: PartCache
  /** Those that are being found. */
  readonly #underWay = new Map<string, Promise<unknown>>()
  readonly view: LogView
  readonly #planner: QueryPlanner
  readonly #agreement: StateAgreement
  #refreshing: Promise<void> | undefined
  /** How often a shard was not asked, since what it has answered before still held. */
  partHits = 0
  /** How many results were found anew before they were asked for. */
  refreshed = 0

  /** How often a shard was asked again. */
  get refetches(): number {
    return this.#agreement.refetches
  }

  /** How often the log had to be held. */
  get holds(): number {
    return this.#agreement.holds
  }

  constructor(options: CoordinatorOptions) {
    this.#options = options
    const { sqlCacheBytesMax } = options.settings
    this.#results = new ResultMap(sqlCacheBytesMax / 2, ({ result }) => result.rows)
    this.#parts = new PartCache(sqlCacheBytesMax / 2)
    this.view = new LogView(options.database.log)
    this.#planner = new QueryPlanner(options.database, options.parser)
    this.#agreement = new StateAgreement(options.arbitrator, options.database)
  }

  /** Throws SQL_INVALID, SQL_REFUSED, LIMIT_EXCEEDED, SHARD_UNAVAILABLE, SHARDS_UNSETTLED, SHARD_DRIFT. */
  async answer(asked: AskedSql): Promise<SqlResult> {
    const deadlineMs = performance.now() + this.#options.settings.sqlMsMax
    if (this.#options.database.hasLocalWrites) return (await this.#find(asked, deadlineMs)).result
    const key = JSON.stringify([asked.text, asked.values])
    const known = await this.#current(key, asked)
    if (known) return known.result
    // What somebody else began to find earlier may be from before this was asked for: one look at the log tells.
    const other = this.#underWay.get(key)
    if (other) {
      await other.catch(() => undefined)
      const found = await this.#current(key, asked)
      if (found) return found.result
    }
    return this.#findAndKeep(key, asked, deadlineMs)
  }

  /** Those that are asked for again and again, and that a global write has outdated. One call at a time does it. */
  refreshAhead(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  async #refresh(): Promise<void> {
    const wanted = this.#results.values().filter(({ hits }) => hits >= HITS_WANTED)
    if (wanted.length === 0) return
    const seen = await this.view.look()
    const outdated = wanted.filter(({ tables, through }) => !isUntouched(seen, tables, through))
    for (const kept of outdated.slice(0, REFRESHED_MAX)) {
      try {
        await this.#findAgain(kept.asked)
        this.refreshed++
      } catch {
        // Whoever asks for it is told why. It is not tried again before that: others are behind it.
        kept.hits = 0
      }
    }
  }

  #findAgain(asked: AskedSql): Promise<SqlResult> {
    const key = JSON.stringify([asked.text, asked.values])
    return this.#findAndKeep(key, { ...asked, floor: 0 }, performance.now() + this.#options.settings.sqlMsMax)
  }

  async #findAndKeep(key: string, asked: AskedSql, deadlineMs: number): Promise<SqlResult> {
    const work = this.#find(asked, deadlineMs)
    this.#underWay.set(key, work)
    try {
      const found = await work
      this.#results.set(key, found)
      return found.result
    } finally {
      if (this.#underWay.get(key) === work) this.#underWay.delete(key)
    }
  }

  plan({ text, values }: Pick<AskedSql, 'text' | 'values'>): Promise<PlacedPlan> {
    return this.#planner.plan({ text, values, rowsMax: this.#options.settings.sqlRowsMax })
  }

  /**
   * The rows of a query, to be read piece by piece from the snapshots that were compared; undefined if they must be put together as a
   * whole. Whoever asked must close it. Throws as `answer` does.
   */
  async open({ text, values, floor }: AskedSql): Promise<RowStream | undefined> {
    const { settings } = this.#options
    const asked = { text, values, rowsMax: UNLIMITED }
    if (streamedMerge((await this.#planner.plan(asked)).merge) === undefined) return undefined
    const deadlineMs = performance.now() + settings.sqlMsMax
    return this.#planner.answer(asked, streamingWay(this.#agreement, { floor, deadlineMs, settings }))
  }

  #find(asked: AskedSql, deadlineMs: number): Promise<KeptResult> {
    const { sqlRowsMax: rowsMax } = this.#options.settings
    const { text, values, floor } = asked
    return this.#planner.answer(
      { text, values, rowsMax },
      {
        find: plan => this.#agree(plan, floor, deadlineMs),
        finish: async ({ merge, columns, tables }, { answers, versions }): Promise<KeptResult> => {
          const result = { columns, ...mergeRows(merge, answers, rowsMax), versions }
          const through = Math.min(...answers.map(({ applied }) => applied))
          return { asked, result, tables, through, hits: 0 }
        },
        drop: async () => undefined,
      },
    )
  }

  /** What was found before, if it still is. One look at the log tells, whatever the shards. */
  async #current(key: string, { floor, isFloorEnough = false }: AskedSql): Promise<KeptResult | undefined> {
    const known = this.#results.get(key)
    if (known === undefined) return undefined
    const isReached = isFloorEnough && known.through >= floor
    if (!isReached && !(await this.#isUntouched(known, floor))) return undefined
    known.hits++
    return known
  }

  async #isUntouched({ tables, through }: KeptResult, floor: number): Promise<boolean> {
    const seen = await this.#look()
    return seen !== undefined && seen.head >= floor && isUntouched(seen, tables, through)
  }

  /** Undefined: the shards can be asked all the same. */
  #look(): Promise<Seen | undefined> {
    return this.view.look().catch(() => undefined)
  }

  async #agree(plan: PlacedPlan, floor: number, deadlineMs: number): Promise<Agreed<ShardAnswer>> {
    return this.#agreement.reach<ShardAnswer>(plan, {
      floor,
      deadlineMs,
      known: await this.#keptParts(plan, floor),
      ask: (places, answers) => this.#readAll(plan, places, answers, deadlineMs),
      letGo: async () => [],
    })
  }

  /** What shards have answered before, at their places, if it still holds: as of the end of the log. */
  async #keptParts({ servers, parts, tables }: PlacedPlan, floor: number): Promise<ShardAnswer[]> {
    const { hasLocalWrites } = this.#options.database
    const answers: ShardAnswer[] = []
    const kept = hasLocalWrites ? [] : servers.map(({ name }, i) => this.#parts.find(name, parts[i]!))
    const seen = kept.some(part => part !== undefined) ? await this.#look() : undefined
    if (seen === undefined || seen.head < floor) return answers
    for (const [i, part] of kept.entries()) {
      if (part === undefined || !isUntouched(seen, tables, part.applied)) continue
      answers[i] = { ...part, applied: Math.max(part.applied, seen.head) }
      this.partHits++
    }
    return answers
  }

  /** Into `answers`, at the places of those that are asked. */
  async #readAll(
    plan: PlacedPlan,
    places: readonly number[],
    answers: ShardAnswer[],
    deadlineMs: number,
  ): Promise<void> {
    const { parts, tables, servers } = plan
    const { database, settings } = this.#options
    const timeoutMs = leftMs(deadlineMs)
    const onBytes = countdown(settings.sqlBytesMax)
    await Promise.all(
      places.map(async place => {
        const [part, shard] = [parts[place]!, servers[place]!]
        const answer = await shard.read({ statement: part.statement, tables, timeoutMs, onBytes })
        answers[place] = answer
        // One row more than are put together: there are others that it was not asked for.
        const isWhole = answer.rows.length <= settings.sqlRowsMax
        if (isWhole && !database.hasLocalWrites && !answer.isChanging) this.#parts.keep(shard.name, part, answer)
      }),
    )
  }
}

/** All shards together may send so much: then no more is read. */
function countdown(bytesMax: number): (bytes: number) => void {
  let left = bytesMax
  return bytes => {
    left -= bytes
    if (left >= 0) return
    throw new FreshetError(
      'LIMIT_EXCEEDED',
      `The shards would send more than ${bytesMax} bytes for this query, which is as much as is put together here. Narrow it.`,
      { details: { bytesMax } },
    )
  }
}
