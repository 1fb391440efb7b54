/**
 * A shard in a SQL server. In addition to the user's tables it has two tables of Freshet:
 *
 *   freshet_shard     one row. `applied`: the position up to which the shard has applied the log, below 0 before it is filled;
 *                     `changing`: a schema change that has begun, if the engine cannot do one within a transaction;
 *                     `before_change`: the tables before it; `obstacle`: why the next write cannot be applied
 *   freshet_versions  aspect, version
 *
 * Both change in the transaction of the write that they record, and are read in the snapshot of the rows they belong to.
 *
 * A schema change in MariaDB commits by itself. So it is noted first, in a transaction of its own; readers that see the note know
 * that they must retry. Then it is done, and then its version is written and the note removed. A server that finds the note
 * later, after a crash, compares the tables with what they were before: if they are the same, the change was not done yet. A
 * reader locks the schemas of its tables before it takes its snapshot: so it sees the note, or the new version, or neither of
 * them and the old schema until it is done.
 */
import { FreshetError } from '@freshet/protocol'
import {
  type Catalog,
  type CopyRequest,
  type GlobalWrite,
  type Move,
  type MovePart,
  quoteName,
  SCHEMA_ASPECT,
  type Shard,
  type ShardAnswer,
  type ShardCopy,
  type ShardRead,
  type ShardSnapshot,
  type ShardState,
  type SnapshotRequest,
  type TableEffects,
} from '../plan/index.js'
import { conditionOf, deleteRows, insertRows, readRows } from './row-copies.js'
import type { Session, SessionResult } from './session-pool.js'
import type { SchemaSteps, ShardEngine } from './shard-engine.js'
import { refusedBy, telling, unusable } from './shard-errors.js'
import { openSnapshot } from './sql-snapshot.js'

/** How often the bytes that a read has received are counted. */
const LOOK_MS = 20
const STATE_TIMEOUT_MS = 5000
/** The position of a shard that is not filled yet: no write is the next one for it. */
const WAITING = -1_000_000
/** Not an aspect: counts the commits that were made only to have earlier ones on disk. */
const FLUSHES = '*flushes'
const ASPECT = { name: 'aspect', type: 'VARCHAR(190)', isRequired: true }
const VERSIONS = `SELECT aspect, version, 0 AS changing FROM freshet_versions WHERE aspect <> '${FLUSHES}' UNION ALL SELECT '', applied, CASE WHEN changing IS NULL THEN 0 ELSE 1 END FROM freshet_shard`

export class SqlShard implements Shard {
  readonly name: string
  readonly #engine: ShardEngine

  constructor(name: string, engine: ShardEngine) {
    this.name = name
    this.#engine = engine
  }

  get dialect(): Shard['dialect'] {
    return this.#engine.dialect
  }

  read(read: ShardRead): Promise<ShardAnswer> {
    return telling(this.name, this.#engine, refusedBy('SQL_INVALID', this.name), () =>
      this.#engine.pool.use(read.timeoutMs, session => watched(session, read.onBytes, this.#readBy(session, read))),
    )
  }

  async #readBy(session: Session, { statement, tables }: ShardRead): Promise<ShardAnswer> {
    // All are sent at once; the error of the first that fails is thrown.
    const results = await Promise.all([
      session.run(this.#engine.beginRead),
      ...(tables.length > 0 ? [session.run(this.#engine.lockSchemas(tables))] : []),
      session.run(VERSIONS),
      session.run(statement.text, statement.values),
      session.run('COMMIT'),
    ])
    return { ...results.at(-2)!, ...versionsOf(results.at(-3)!) }
  }

  snapshot(request: SnapshotRequest): Promise<ShardSnapshot> {
    return openSnapshot({ ...request, shard: this.name, engine: this.#engine, versions: VERSIONS, versionsOf })
  }

  catalog(): Promise<Catalog> {
    return this.#own(STATE_TIMEOUT_MS, session => this.#engine.readCatalog(session))
  }

  effects(): Promise<TableEffects> {
    return this.#own(STATE_TIMEOUT_MS, session => this.#engine.readEffects(session))
  }

  state(): Promise<ShardState> {
    return this.#own(STATE_TIMEOUT_MS, async session => {
      const [versions, own] = await Promise.all([
        session.run(VERSIONS),
        session.run('SELECT obstacle FROM freshet_shard'),
      ])
      const obstacle = own.rows[0]?.[0]
      const known = versionsOf(versions)
      return { ...known, isWaiting: known.applied < 0, ...(typeof obstacle === 'string' ? { obstacle } : {}) }
    })
  }

  copy({ tables, range, timeoutMs }: CopyRequest): Promise<ShardCopy> {
    return this.#own(timeoutMs, async session => {
      await session.run(this.#engine.beginRead)
      const versions = versionsOf(await session.run(VERSIONS))
      const rows = await readRows(session, this.#engine, { tables, ...(range ? { range } : {}) })
      await session.run('COMMIT')
      return { ...versions, tables: rows }
    })
  }

  applyMove(write: GlobalWrite, part: MovePart, timeoutMs: number): Promise<boolean> {
    return this.#noting(write.position, () =>
      this.#runGlobal(timeoutMs, async session => {
        const due = await this.#begin(session, write)
        if (due !== 'now') return due === 'done'
        await this.#move(session, write.move!, part)
        await this.#finish(session, write)
        return true
      }),
    )
  }

  rehearseMove(move: Move, part: MovePart, timeoutMs: number): Promise<void> {
    return this.#runGlobal(timeoutMs, async session => {
      await session.run(this.#engine.beginWrite)
      await this.#move(session, move, part).finally(() => session.run('ROLLBACK'))
    })
  }

  async #move(session: Session, move: Move, part: MovePart): Promise<void> {
    if (part.kind === 'take') await insertRows(session, this.#engine, part.rows)
    if (part.kind === 'give') await deleteRows(session, this.#engine, part.tables, move)
  }

  fill({ tables, versions, applied }: ShardCopy, timeoutMs: number): Promise<void> {
    return this.#own(timeoutMs, async session => {
      await session.run(this.#engine.beginWrite)
      const { rows } = await session.run('SELECT applied FROM freshet_shard WHERE id = 1 FOR UPDATE')
      if (Number(rows[0]?.[0]) >= 0) {
        await session.run('ROLLBACK')
        return
      }
      for (const { table } of [...tables].reverse())
        await session.run(`DELETE FROM ${quoteName(table, this.#engine.dialect)}`)
      await insertRows(session, this.#engine, tables)
      for (const [aspect, version] of Object.entries(versions))
        await this.#run(session, this.#engine.upsertVersion(), [aspect, version])
      await this.#run(session, 'UPDATE freshet_shard SET applied = ? WHERE id = 1', [applied])
      await session.run('COMMIT')
    })
  }

  /**
   * A later commit is on disk later. So once a commit of our own is acknowledged, the earlier ones are on disk
   * (docs/decisions/0011).
   */
  hasDurably(position: number): Promise<boolean> {
    return this.#own(STATE_TIMEOUT_MS, async session => {
      await session.run(this.#engine.beginWrite)
      const { rows } = await session.run('SELECT applied FROM freshet_shard WHERE id = 1 FOR UPDATE')
      const flushes = await this.#run(session, 'SELECT version FROM freshet_versions WHERE aspect = ?', [FLUSHES])
      await this.#run(session, this.#engine.upsertVersion(), [FLUSHES, Number(flushes.rows[0]?.[0] ?? 0) + 1])
      await session.run('COMMIT')
      return Number(rows[0]?.[0]) >= position
    })
  }

  hasRows(table: string): Promise<boolean> {
    const select = `SELECT 1 FROM ${quoteName(table, this.#engine.dialect)} LIMIT 1`
    return this.#own(STATE_TIMEOUT_MS, async session => (await session.run(select)).rows.length > 0)
  }

  keyFromEnd(
    table: string,
    key: string,
    range: Pick<Move, 'low' | 'high'>,
    count: number,
  ): Promise<number | undefined> {
    const { text, values } = conditionOf(this.#engine, key, range)
    const column = quoteName(key, this.#engine.dialect)
    const select = `SELECT ${column} FROM ${quoteName(table, this.#engine.dialect)}${text} ORDER BY ${column} DESC LIMIT 1 OFFSET ${count - 1}`
    return this.#own(STATE_TIMEOUT_MS, async session => {
      const { rows } = await this.#run(session, select, values)
      return rows[0] && Number(rows[0][0])
    })
  }

  apply(write: GlobalWrite, timeoutMs: number): Promise<boolean> {
    const steps = write.isSchemaChange ? this.#engine.schemaSteps : undefined
    return this.#noting(write.position, () =>
      this.#runGlobal(timeoutMs, session =>
        steps ? this.#applySchema(session, write, steps) : this.#applyAtOnce(session, write),
      ),
    )
  }

  rehearse({ text, values, isSchemaChange, aspects }: Omit<GlobalWrite, 'position'>, timeoutMs: number): Promise<void> {
    const { beginWrite, schemaSteps } = this.#engine
    return this.#runGlobal(timeoutMs, async session => {
      const { rows } = await session.run('SELECT applied FROM freshet_shard WHERE id = 1')
      if (Number(rows[0]?.[0]) < 0) return
      if (isSchemaChange && schemaSteps) return schemaSteps.check(session, text, aspects)
      await session.run(beginWrite)
      await session.run(text, values).finally(() => session.run('ROLLBACK'))
    })
  }

  init({ isWaiting = false }: { readonly isWaiting?: boolean } = {}): Promise<void> {
    const { textType, tableOptions, exactText } = this.#engine
    return this.#own(STATE_TIMEOUT_MS, async session => {
      await session.run(
        `CREATE TABLE IF NOT EXISTS freshet_versions (aspect ${exactText(ASPECT.type)} PRIMARY KEY, version BIGINT NOT NULL)${tableOptions}`,
      )
      await this.#engine.makeExact?.(session, 'freshet_versions', [ASPECT])
      await session.run(
        `CREATE TABLE IF NOT EXISTS freshet_shard (id INT PRIMARY KEY, applied BIGINT NOT NULL, changing BIGINT, before_change ${textType}, obstacle ${textType})${tableOptions}`,
      )
      await session.run(
        `INSERT INTO freshet_shard (id, applied) SELECT 1, ${isWaiting ? WAITING : 0} FROM (SELECT COUNT(*) AS n FROM freshet_shard) AS c WHERE n = 0`,
      )
    })
  }

  async close(): Promise<void> {
    this.#engine.pool.close()
  }

  #own<Result>(timeoutMs: number, work: (session: Session) => Promise<Result>): Promise<Result> {
    const { pool, place } = this.#engine
    return telling(this.name, this.#engine, unusable(this.name, place), () => pool.use(timeoutMs, work))
  }

  /** Throws GLOBAL_REFUSED if the engine refuses a statement. */
  #runGlobal<Result>(timeoutMs: number, work: (session: Session) => Promise<Result>): Promise<Result> {
    const { pool } = this.#engine
    return telling(this.name, this.#engine, refusedBy('GLOBAL_REFUSED', this.name), () => pool.use(timeoutMs, work))
  }

  /** Records why a write of the log could not be applied, so that operators can see it. */
  async #noting<Result>(position: number, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof FreshetError && error.code !== 'SHARD_UNAVAILABLE') await this.#note(position, error.message)
      throw error
    }
  }

  #run(session: Session, text: string, values: readonly (string | number)[] = []): Promise<SessionResult> {
    return session.run(this.#engine.spell(text), values)
  }

  async #applyAtOnce(session: Session, write: GlobalWrite): Promise<boolean> {
    const due = await this.#begin(session, write)
    if (due !== 'now') return due === 'done'
    await session.run(write.text, write.values)
    await this.#finish(session, write)
    return true
  }

  /** Begins the transaction, and ends it again if there is nothing to do. */
  async #begin(session: Session, { position }: GlobalWrite): Promise<'now' | 'done' | 'later'> {
    await session.run(this.#engine.beginWrite)
    const { rows } = await session.run('SELECT applied FROM freshet_shard WHERE id = 1 FOR UPDATE')
    const applied = Number(rows[0]?.[0] ?? Number.NaN)
    if (applied === position - 1) return 'now'
    await session.run('ROLLBACK')
    return applied >= position ? 'done' : 'later'
  }

  async #finish(session: Session, { position, aspects, isSchemaChange }: GlobalWrite): Promise<void> {
    for (const aspect of isSchemaChange ? [...aspects, SCHEMA_ASPECT] : aspects) {
      await this.#run(session, this.#engine.upsertVersion(), [aspect, position])
    }
    await this.#run(
      session,
      'UPDATE freshet_shard SET applied = ?, changing = NULL, before_change = NULL, obstacle = NULL WHERE id = 1',
      [position],
    )
    await session.run('COMMIT')
  }

  async #applySchema(session: Session, write: GlobalWrite, steps: SchemaSteps): Promise<boolean> {
    const lock = 'freshet-schema'
    // Only one session may do it. The lock goes with the connection, which the engine keeps until a statement on it has ended.
    if (!(await this.#engine.tryLock(session, lock, 3600))) return false
    try {
      const due = await this.#begin(session, write)
      if (due !== 'now') return due === 'done'
      const { rows } = await this.#run(session, 'SELECT before_change FROM freshet_shard WHERE changing = ?', [
        write.position,
      ])
      const now = await steps.describeTables(session, write.aspects)
      if (rows.length === 0) {
        await this.#run(session, 'UPDATE freshet_shard SET changing = ?, before_change = ? WHERE id = 1', [
          write.position,
          now,
        ])
      }
      await session.run('COMMIT')
      if (rows.length === 0 || rows[0]![0] === now) await session.run(write.text, write.values)
      const still = await this.#begin(session, write)
      if (still === 'now') await this.#finish(session, write)
      return still !== 'later'
    } finally {
      await this.#engine.unlock(session, lock)
    }
  }

  /** Failing to record the obstacle is ignored: the obstacle itself is reported anyway. */
  async #note(position: number, obstacle: string): Promise<void> {
    const text =
      'UPDATE freshet_shard SET obstacle = ?, changing = NULL, before_change = NULL WHERE id = 1 AND applied = ?'
    await this.#own(STATE_TIMEOUT_MS, session => this.#run(session, text, [obstacle, position - 1])).catch(
      () => undefined,
    )
  }
}

/** Settles as `work` does, or rejects with what `onBytes` throws. */
async function watched<Result>(
  session: Session,
  onBytes: ((bytes: number) => void) | undefined,
  work: Promise<Result>,
): Promise<Result> {
  let counted = session.bytesRead
  const look = () => {
    const { bytesRead } = session
    onBytes?.(bytesRead - counted)
    counted = bytesRead
  }
  let timer: NodeJS.Timeout | undefined
  const tooMuch = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      try {
        look()
      } catch (error) {
        reject(error)
      }
    }, LOOK_MS)
  })
  try {
    const result = await Promise.race([work, tooMuch])
    look()
    return result
  } finally {
    clearInterval(timer)
  }
}

function versionsOf({ rows }: SessionResult): Pick<ShardState, 'versions' | 'applied' | 'isChanging'> {
  const own = rows.find(([aspect]) => aspect === '')
  if (own === undefined) throw new Error('its table freshet_shard is empty')
  const versions = Object.fromEntries(
    rows.filter(row => row !== own).map(([aspect, version]) => [aspect, Number(version)]),
  )
  return { versions, applied: Number(own[1]), isChanging: Number(own[2]) === 1 }
}

export function joinedNames(tables: readonly string[], dialect: Shard['dialect']): string {
  return tables.map(table => quoteName(table, dialect)).join(', ')
}
