/**
 * From the text of a query to what each shard is asked. The schema that a query was planned with has a version: if the shards
 * have another version by now, the query is planned again.
 */
import { FreshetError } from '@freshet/protocol'
import { parseSelect, type SqlParser } from '../parse/parse-sql.js'
import { type PlacedDatabase, type PlacedPlan, placedAt } from '../placement/placed-database.js'
import type { ShardedDatabase } from '../placement/sharded-database.js'
import {
  type Catalog,
  type ParameterValue,
  planQuery,
  SCHEMA_ASPECT,
  type Select,
  type Shard,
  type Versions,
} from '../plan/index.js'
import { unsettled } from './state-agreement.js'

export interface PlannedSql {
  readonly text: string
  readonly values: readonly ParameterValue[]
  /** A shard that has more rows sends one more than this. */
  readonly rowsMax: number
}

/** How a query is answered once it is planned. */
export interface Way<Found extends { readonly versions: Versions }, Result> {
  /** Asks the shards. */
  find(plan: PlacedPlan): Promise<Found>
  /** Called if the schema is the one that the query was planned with. */
  finish(plan: PlacedPlan, found: Found): Promise<Result>
  /** Called if it is not. */
  drop(found: Found): Promise<void>
}

interface Planned {
  readonly plan: PlacedPlan
  readonly schemaVersion: number
}

interface KnownCatalog extends PlacedDatabase {
  /** The version of the schema, which includes the placement of rows. */
  readonly version: number
  readonly catalog: Catalog
}

const REPLANS_MAX = 3
const SELECTS_MAX = 500

export class QueryPlanner {
  readonly #database: ShardedDatabase
  readonly #parser: () => Promise<SqlParser>
  readonly #selects = new Map<string, Select>()
  #catalog: Promise<KnownCatalog> | undefined
  #turn = 0

  constructor(database: ShardedDatabase, parser: () => Promise<SqlParser>) {
    this.#database = database
    this.#parser = parser
  }

  /** Throws SQL_INVALID, SQL_REFUSED, SHARDS_UNSETTLED, SHARD_DRIFT, and what the way throws. */
  async answer<Found extends { readonly versions: Versions }, Result>(
    asked: PlannedSql,
    way: Way<Found, Result>,
  ): Promise<Result> {
    for (let replans = 0; ; replans++) {
      const found = await this.#answerAs(await this.#planned(asked), way)
      if (found) return found.result
      if (replans === REPLANS_MAX) throw unsettled('their schemas change faster than queries are answered', {})
    }
  }

  async plan(asked: PlannedSql): Promise<PlacedPlan> {
    return (await this.#planned(asked)).plan
  }

  /** Undefined: the schema has changed, and the query must be planned again. */
  async #answerAs<Found extends { readonly versions: Versions }, Result>(
    { plan, schemaVersion }: Planned,
    { find, finish, drop }: Way<Found, Result>,
  ): Promise<{ readonly result: Result } | undefined> {
    try {
      const found = await this.#somewhere(plan, find)
      if ((found.versions[SCHEMA_ASPECT] ?? 0) === schemaVersion) return { result: await finish(plan, found) }
      await drop(found)
      this.#catalog = undefined
    } catch (error) {
      if (!(error instanceof FreshetError && error.code === 'SQL_INVALID')) throw error
      this.#catalog = undefined
      const known = await this.#knownCatalog()
      if (known.version === schemaVersion) throw (await driftOf(plan, known.catalog, error)) ?? error
    }
    return undefined
  }

  /** A query that every shard can answer goes to each shard in turn, and to the next if one does not answer. */
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

  /** A query that cannot be planned may be for a schema that has changed since: it is then planned again. */
  async #planned(asked: PlannedSql): Promise<Planned> {
    const select = await this.#parse(asked.text)
    const known = await this.#knownCatalog()
    try {
      return planWith(select, asked, known)
    } catch (error) {
      const [newest] = await this.#bySchema()
      if (newest === undefined || newest.version <= known.version) throw error
      this.#catalog = undefined
      return planWith(select, asked, await this.#knownCatalog())
    }
  }

  async #parse(text: string): Promise<Select> {
    const known = this.#selects.get(text)
    if (known) return known
    const select = parseSelect(await this.#parser(), text)
    if (this.#selects.size >= SELECTS_MAX) this.#selects.delete(this.#selects.keys().next().value!)
    this.#selects.set(text, select)
    return select
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
    const { shards } = this.#database
    const states = await Promise.allSettled(shards.map(shard => shard.state()))
    return states
      .flatMap((state, i) => {
        return state.status === 'fulfilled'
          ? [{ shard: shards[i]!, version: state.value.versions[SCHEMA_ASPECT] ?? 0 }]
          : []
      })
      .sort((a, b) => b.version - a.version)
  }

  /** The version is read before and after: otherwise the catalog could be newer than the version noted for it. */
  async #readCatalog(): Promise<KnownCatalog> {
    let failure: unknown
    for (const { shard, version } of await this.#bySchema()) {
      try {
        const catalog = await shard.catalog()
        const { versions, isChanging } = await shard.state()
        if ((versions[SCHEMA_ASPECT] ?? 0) === version && !isChanging)
          return { version, catalog, ...(await placedAt(this.#database, version)) }
        failure = unsettled(`the schema of ${shard.name} is being changed`, { shard: shard.name })
      } catch (error) {
        failure = error
      }
    }
    // If no shard answers, the error of the first one.
    throw failure ?? (await this.#database.shards[0]!.state().catch(error => error))
  }
}

function planWith(
  select: Select,
  { values, rowsMax }: PlannedSql,
  { version, catalog, map, shards }: KnownCatalog,
): Planned {
  const plan = planQuery(select, { map, catalog, values, rowsMax })
  return { plan: { ...plan, servers: plan.shards.map(i => shards[i]!) }, schemaVersion: version }
}

/** A query that was planned for the tables of one shard is refused by another shard only if its tables differ. */
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
    `The table ${table} of ${shard} has other columns than on other shards: it was changed on that shard alone. ` +
      'Run freshet shards check to see the differences.',
    { cause, details: { shard, table } },
  )
}
