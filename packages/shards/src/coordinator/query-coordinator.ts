/**
 * Answers queries over shards: plans them (`query-planner.ts`), has the shards agree (`state-agreement.ts`), and merges their
 * answers.
 *
 * If all writes go through the log, one read of it shows whether earlier results still hold: whole results, and answers of single
 * shards. Results that clients ask for again and again are computed again as soon as a global write has outdated them. Streamed
 * rows are not kept, and never come from kept results.
 */
import { overLimit, type ServerSettings } from '@freshet/server/capabilities'
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
  /** All global writes up to here must be in the result. */
  readonly floor: number
  /** The caller has looked up the last write that matters: an earlier result that includes it need not be checked again. */
  readonly isFloorEnough?: boolean
}

interface KeptResult {
  readonly asked: AskedSql
  readonly result: SqlResult
  /** The tables that the result depends on. */
  readonly tables: readonly string[]
  /** All writes to these tables up to here are in the result. */
  readonly through: number
  /** How often it was requested since it was computed. */
  hits: number
}

export interface SqlResult extends MergedRows {
  readonly columns: readonly string[]
  readonly versions: Versions
}

/** Streamed rows are not limited. */
const UNLIMITED = Number.MAX_SAFE_INTEGER - 1
/** A result that was requested this often since it was computed is computed again before the next request. */
const HITS_WANTED = 2
const REFRESHED_MAX = 50

export class QueryCoordinator {
  readonly #options: CoordinatorOptions
  readonly #results: ResultMap<KeptResult>
  readonly #parts: PartCache
  /** Results that are being computed. */
  readonly #underWay = new Map<string, Promise<unknown>>()
  readonly view: LogView
  readonly #planner: QueryPlanner
  readonly #agreement: StateAgreement
  #refreshing: Promise<void> | undefined
  /** How often a shard was not asked, because its earlier answer still held. */
  partHits = 0
  /** How many results were computed again before a client asked for them. */
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
    // A result that another caller began to compute may be older than this request: one read of the log shows whether it holds.
    const other = this.#underWay.get(key)
    if (other) {
      await other.catch(() => undefined)
      const found = await this.#current(key, asked)
      if (found) return found.result
    }
    return this.#findAndKeep(key, asked, deadlineMs)
  }

  /** Computes results again that are requested often and that a global write has outdated. Concurrent calls share one run. */
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
        // The next request for it gets the error. It is not retried before that: other results wait behind it.
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
   * The rows of a query, to be read piece by piece from the snapshots that were compared; undefined if they must be merged as a
   * whole. The caller must close the stream. Throws as `answer` does.
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

  /** The earlier result, if it still holds. One read of the log shows that, however many shards there are. */
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

  /** Undefined if the log does not answer: the shards can still be asked. */
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

  /** Earlier answers of the shards, at their places, if they still hold at the end of the log. */
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

  /** Reads into `answers`, at the places of the shards asked. */
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
        // One row more than the limit means that the shard has further rows, which were not requested.
        const isWhole = answer.rows.length <= settings.sqlRowsMax
        if (isWhole && !database.hasLocalWrites && !answer.isChanging) this.#parts.keep(shard.name, part, answer)
      }),
    )
  }
}

/** Limits how much all shards together may send: beyond that, reading stops. */
function countdown(bytesMax: number): (bytes: number) => void {
  let left = bytesMax
  return bytes => {
    left -= bytes
    if (left >= 0) return
    throw overLimit({
      code: 'LIMIT_EXCEEDED',
      limit: 'sqlBytesMax',
      what: `The shards would send more than ${bytesMax} bytes for this query, the most that this server merges.`,
      instead: 'Narrow it',
      details: { bytesMax },
    })
  }
}
