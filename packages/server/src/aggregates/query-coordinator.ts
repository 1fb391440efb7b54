/**
 * Algorithm 1 of venkateswaran, with what it lacks: a result is told only after its versions were compared, never before.
 *
 *   ask all shards concerned; each answers rows and versions from one snapshot
 *   up to 5 rounds: those that are behind are asked again, once they have caught up: to find that out costs no query
 *   then: hold the arbitrator's log, bring the shards up to its end, ask those that were behind once more, release it
 *
 * The schema that a query was planned with has a version too: if the shards have another one by now, it is planned anew.
 *
 * Where nobody writes past the log, one look at it says of what was found before whether it still holds: whole results, and what
 * single shards have answered. Results that are asked for again and again are found anew as soon as a global write has
 * outdated them.
 */

import { setTimeout as delay } from 'node:timers/promises'
import {
  type Catalog,
  judgeMatrix,
  type MergedRows,
  mergeRows,
  type ParameterValue,
  planQuery,
  type QueryPlan,
  SCHEMA_ASPECT,
  type Select,
  type Shard,
  type ShardAnswer,
  type Versions,
} from '@freshet/core/aggregates'
import { FreshetError } from '@freshet/protocol'
import type { ServerSettings } from '../settings.js'
import type { Arbitrator } from './arbitrator.js'
import { isUntouched, LogView, type Seen } from './log-view.js'
import { parseSelect, type SqlParser } from './parse-sql.js'
import { PartCache } from './part-cache.js'
import { type PlacedDatabase, placedAt } from './placed-database.js'
import { ResultMap } from './result-map.js'
import type { ShardedDatabase } from './sharded-database.js'
import { SharedHold } from './shared-hold.js'

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

interface Planned {
  readonly plan: PlacedPlan
  readonly schemaVersion: number
}

interface PlacedPlan extends QueryPlan {
  /** Those that are asked. */
  readonly servers: readonly Shard[]
}

interface Agreed {
  readonly answers: readonly ShardAnswer[]
  readonly versions: Versions
}

interface KnownCatalog extends PlacedDatabase {
  /** Of the schema, of which it is a part where rows are. */
  readonly version: number
  readonly catalog: Catalog
}

const ROUNDS_MAX = 5
const HELD_ROUNDS_MAX = 2
const FIRST_PAUSE_MS = 2
const REPLANS_MAX = 3
const SELECTS_MAX = 500
/** A result that was asked for so often since it was found is worth finding anew before it is asked for. */
const HITS_WANTED = 2
const REFRESHED_MAX = 50

export class QueryCoordinator {
  readonly #options: CoordinatorOptions
  readonly #results: ResultMap<KeptResult>
  readonly #parts: PartCache
  readonly #selects = new Map<string, Select>()
  /** Those that are being found. */
  readonly #underWay = new Map<string, Promise<unknown>>()
  readonly view: LogView
  readonly #hold: SharedHold
  #catalog: Promise<KnownCatalog> | undefined
  #refreshing: Promise<void> | undefined
  #turn = 0
  /** How often a shard was asked again. */
  refetches = 0
  /** How often a shard was not asked, since what it has answered before still held. */
  partHits = 0
  /** How many results were found anew before they were asked for. */
  refreshed = 0

  /** How often the log had to be held. */
  get holds(): number {
    return this.#hold.holds
  }

  constructor(options: CoordinatorOptions) {
    this.#options = options
    const { sqlCacheBytesMax } = options.settings
    this.#results = new ResultMap(sqlCacheBytesMax / 2, ({ result }) => result.rows)
    this.#parts = new PartCache(sqlCacheBytesMax / 2)
    this.view = new LogView(options.database.log)
    this.#hold = new SharedHold(options.database.log)
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

  async #find(asked: AskedSql, deadlineMs: number): Promise<KeptResult> {
    for (let replans = 0; ; replans++) {
      const planned = await this.plan(asked)
      const found = await this.#findAs(planned, asked, deadlineMs)
      if (found) return found
      if (replans === REPLANS_MAX) throw unsettled('their schemas change faster than queries are answered', {})
    }
  }

  /** Undefined: the schema is another one by now, and it must be planned anew. */
  async #findAs(
    { plan, schemaVersion }: Planned,
    asked: AskedSql,
    deadlineMs: number,
  ): Promise<KeptResult | undefined> {
    try {
      const found = await this.#somewhere(plan, plan => this.#agree(plan, asked.floor, deadlineMs))
      if ((found.versions[SCHEMA_ASPECT] ?? 0) === schemaVersion) {
        const merged = mergeRows(plan.merge, found.answers, this.#options.settings.sqlRowsMax)
        const result = { columns: plan.columns, ...merged, versions: found.versions }
        const through = Math.min(...found.answers.map(({ applied }) => applied))
        return { asked, result, tables: plan.tables, through, hits: 0 }
      }
      this.#catalog = undefined
    } catch (error) {
      if (!(error instanceof FreshetError && error.code === 'SQL_INVALID')) throw error
      this.#catalog = undefined
      const known = await this.#knownCatalog()
      if (known.version === schemaVersion) throw (await driftOf(plan, known.catalog, error)) ?? error
    }
    return undefined
  }

  /** What every shard has is asked of each in turn, and of the next if one does not answer. */
  async #somewhere<Result>(plan: PlacedPlan, work: (plan: PlacedPlan) => Promise<Result>): Promise<Result> {
    if (!plan.isAnywhere) return work(plan)
    const { shards } = await this.#knownCatalog()
    const count = shards.length
    const first = this.#turn++ % count
    for (let tried = 1; ; tried++) {
      try {
        return await work({ ...plan, servers: [shards[(first + tried) % count]!] })
      } catch (error) {
        const isGone = error instanceof FreshetError && error.code === 'SHARD_UNAVAILABLE'
        if (!isGone || tried === count) throw error
      }
    }
  }

  /** What cannot be planned may be about a schema that has changed since: then it is planned anew. */
  async plan(asked: Pick<AskedSql, 'text' | 'values'>): Promise<Planned> {
    const select = await this.#parse(asked.text)
    const known = await this.#knownCatalog()
    try {
      return this.#planWith(select, asked.values, known)
    } catch (error) {
      const [newest] = await this.#bySchema()
      if (newest === undefined || newest.version <= known.version) throw error
      this.#catalog = undefined
      return this.#planWith(select, asked.values, await this.#knownCatalog())
    }
  }

  #planWith(select: Select, values: AskedSql['values'], { version, catalog, map, shards }: KnownCatalog): Planned {
    const plan = planQuery(select, { map, catalog, values, rowsMax: this.#options.settings.sqlRowsMax })
    return { plan: { ...plan, servers: plan.shards.map(i => shards[i]!) }, schemaVersion: version }
  }

  async #knownCatalog(): Promise<KnownCatalog> {
    this.#catalog ??= this.#readCatalog()
    const reading = this.#catalog
    return reading.catch(error => {
      if (this.#catalog === reading) this.#catalog = undefined
      throw error
    })
  }

  /** The shards that answer, the newest schema first. */
  async #bySchema(): Promise<readonly { readonly shard: Shard; readonly version: number }[]> {
    const { shards } = this.#options.database
    const states = await Promise.allSettled(shards.map(shard => shard.state()))
    return states
      .flatMap((state, i) => {
        return state.status === 'fulfilled'
          ? [{ shard: shards[i]!, version: state.value.versions[SCHEMA_ASPECT] ?? 0 }]
          : []
      })
      .sort((a, b) => b.version - a.version)
  }

  async #parse(text: string): Promise<Select> {
    const known = this.#selects.get(text)
    if (known) return known
    const select = parseSelect(await this.#options.parser(), text)
    if (this.#selects.size >= SELECTS_MAX) this.#selects.delete(this.#selects.keys().next().value!)
    this.#selects.set(text, select)
    return select
  }

  /** Versions are read before and after: else it could be newer than its own. */
  async #readCatalog(): Promise<KnownCatalog> {
    let failure: unknown
    for (const { shard, version } of await this.#bySchema()) {
      try {
        const catalog = await shard.catalog()
        const { versions, isChanging } = await shard.state()
        if ((versions[SCHEMA_ASPECT] ?? 0) === version && !isChanging)
          return { version, catalog, ...(await placedAt(this.#options.database, version)) }
        failure = unsettled(`the schema of ${shard.name} is being changed`, { shard: shard.name })
      } catch (error) {
        failure = error
      }
    }
    // Of none that answers, what the first has to say.
    throw failure ?? (await this.#options.database.shards[0]!.state().catch(error => error))
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

  async #agree(plan: PlacedPlan, floor: number, deadlineMs: number): Promise<Agreed> {
    const { tables, servers } = plan
    const answers = await this.#keptParts(plan, floor)
    const missing = servers.map((_, i) => i).filter(i => answers[i] === undefined)
    await this.#readAll(plan, missing, answers, deadlineMs)
    for (let round = 1; ; round++) {
      const verdict = judgeMatrix(answers, { tables, floor })
      if (verdict.kind === 'consistent') return { answers, versions: verdict.versions }
      if (round === ROUNDS_MAX) return this.#agreeHolding(plan, answers, floor, deadlineMs)
      await delay(FIRST_PAUSE_MS * 2 ** (round - 1))
      const ready = await this.#caughtUp(plan, verdict.shards, verdict.position)
      this.refetches += ready.length
      await this.#readAll(plan, ready, answers, deadlineMs)
    }
  }

  /** Those that have applied the log so far. */
  async #caughtUp({ servers }: PlacedPlan, places: readonly number[], position: number): Promise<readonly number[]> {
    const states = await Promise.all(places.map(place => servers[place]!.state()))
    return places.filter((_, i) => states[i]!.applied >= position && !states[i]!.isChanging)
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

  async #agreeHolding(
    plan: PlacedPlan,
    known: readonly ShardAnswer[],
    floor: number,
    deadlineMs: number,
  ): Promise<Agreed> {
    const { head, release } = await this.#hold.join(leftMs(deadlineMs))
    try {
      if (floor > head)
        throw unsettled(`${floor} global writes are asked for, and there are ${head}`, { position: head })
      await Promise.all(plan.servers.map(shard => this.#bringTo(shard, head, deadlineMs)))
      const answers = [...known]
      // Those that were ahead may be behind what the others have come to.
      for (let round = 1; ; round++) {
        const verdict = judgeMatrix(answers, { tables: plan.tables, floor })
        if (verdict.kind === 'consistent') return { answers, versions: verdict.versions }
        if (round > HELD_ROUNDS_MAX)
          throw unsettled(`${this.#namesOf(plan, verdict.shards)} could not be brought up to date in time`, {})
        await this.#readAll(plan, verdict.shards, answers, deadlineMs)
      }
    } finally {
      await release()
    }
  }

  async #bringTo(shard: Shard, head: number, deadlineMs: number): Promise<void> {
    const { arbitrator } = this.#options
    for (;;) {
      const left = leftMs(deadlineMs)
      const reached = await Promise.race([arbitrator.bringUpToDate(shard), delay(left, undefined, { ref: false })])
      if (reached === undefined)
        throw unsettled(`${shard.name} was not brought up to date in time`, { shard: shard.name })
      if (reached >= head) return
      // It waits for another, which takes rows from it.
      await delay(FIRST_PAUSE_MS)
    }
  }

  /** Into `answers`, at the places of those that are asked. */
  async #readAll(
    plan: PlacedPlan,
    places: readonly number[],
    answers: ShardAnswer[],
    deadlineMs: number,
  ): Promise<ShardAnswer[]> {
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
    return answers
  }

  #namesOf({ servers }: PlacedPlan, places: readonly number[]): string {
    return places.map(place => servers[place]!.name).join(', ')
  }
}

/** What was planned for the tables as one shard has them is refused by another only if it has others. */
async function driftOf({ servers, tables }: PlacedPlan, catalog: Catalog, cause: Error): Promise<Error | undefined> {
  const catalogs = await Promise.all(servers.map(shard => shard.catalog()))
  const columnsOf = (of: Catalog, table: string) => JSON.stringify(of.tables.get(table))
  for (const [i, own] of catalogs.entries()) {
    const table = tables.find(each => columnsOf(own, each) !== columnsOf(catalog, each))
    if (table !== undefined) return drifted(servers[i]!.name, table, cause)
  }
  return undefined
}

function drifted(shard: string, table: string, cause: Error): FreshetError {
  return new FreshetError(
    'SHARD_DRIFT',
    `The table ${table} of ${shard} has other columns than that of other shards: somebody has changed it there alone. freshet shards check says where.`,
    { cause, details: { shard, table } },
  )
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

function leftMs(deadlineMs: number): number {
  return Math.max(1, deadlineMs - performance.now())
}

function unsettled(why: string, details: Readonly<Record<string, unknown>>): FreshetError {
  return new FreshetError(
    'SHARDS_UNSETTLED',
    `The shards have no common state that could be told: ${why}. Try again.`,
    {
      details: { ...details, retryAfterS: 1 },
    },
  )
}
