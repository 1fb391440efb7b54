/**
 * The arbitrator's log, in a SQL server: one row for each global write, and one row for the head, which a server locks while it
 * appends. So positions have no gaps and are in the order of commits. A server that locks that row without appending keeps all
 * others from appending. When a process dies, its lock goes with its connection.
 *
 * InnoDB shows a commit before it is on disk (docs/decisions/0011). If a shard applied a write which the log then lost, the shard
 * would take the next write, with the same position, for done. So rows that are read here are returned only after a commit of our
 * own, made later on the same connection, has been acknowledged: everything before that commit is then on disk.
 */
import { FreshetError } from '@freshet/protocol'
import {
  type Appended,
  type AppendOptions,
  type GlobalLog,
  type GlobalWrite,
  type LogChanges,
  type Move,
  type PlacedShard,
  SCHEMA_ASPECT,
} from '../plan/index.js'
import { inTime, type Session, type SessionResult } from './session-pool.js'
import type { ShardEngine } from './shard-engine.js'
import { shardUnavailable, telling, unusable } from './shard-errors.js'

const NAME = 'arbitrator'
const TIMEOUT_MS = 10_000
/** Long enough to copy a log. */
const ALTER_MS_MAX = 600_000
const LEADER = 'freshet-arbitrator'
/** The kind of a write, in the column `schema_change`. */
const SCHEMA_CHANGE = 1
const MOVE = 2

interface KnownOperation {
  readonly position: number
  readonly fingerprint: string
  readonly aspects: readonly string[]
}

export class SqlGlobalLog implements GlobalLog {
  readonly #engine: ShardEngine
  #leading: Session | undefined
  #exact: Promise<void> | undefined

  constructor(engine: ShardEngine) {
    this.#engine = engine
  }

  async append(write: Omit<GlobalWrite, 'position'>, { id, fingerprint, after }: AppendOptions): Promise<Appended> {
    await this.#madeExact()
    return this.#use(async session => {
      await session.run(this.#engine.beginWrite)
      const { rows } = await session.run('SELECT position FROM freshet_log_head WHERE id = 1 FOR UPDATE')
      const known = id === undefined ? undefined : await this.#find(session, id)
      if (known) {
        await session.run('ROLLBACK')
        return this.#replayed(session, known, fingerprint)
      }
      const position = Number(rows[0]?.[0] ?? Number.NaN) + 1
      if (after !== undefined && position !== after + 1) {
        await session.run('ROLLBACK')
        throw overtaken()
      }
      const { text, values, aspects, isSchemaChange } = write
      const insert =
        'INSERT INTO freshet_log (position, operation, fingerprint, statement, parameters, aspects, schema_change) VALUES (?, ?, ?, ?, ?, ?, ?)'
      const row = [
        position,
        id ?? null,
        fingerprint,
        text,
        JSON.stringify(write.move ?? values),
        JSON.stringify(aspects),
        write.move ? MOVE : isSchemaChange ? SCHEMA_CHANGE : 0,
      ]
      await session.run(this.#engine.spell(insert), row)
      await this.#run(session, 'UPDATE freshet_log_head SET position = ? WHERE id = 1', [position])
      await session.run('COMMIT')
      return { position, aspects, isReplayed: false }
    })
  }

  async find({
    id,
    fingerprint,
  }: {
    readonly id: string
    readonly fingerprint: string
  }): Promise<Appended | undefined> {
    await this.#madeExact()
    return this.#use(async session => {
      const known = await this.#find(session, id)
      return known && this.#replayed(session, known, fingerprint)
    })
  }

  writesAfter(position: number, limit: number): Promise<readonly GlobalWrite[]> {
    return this.#use(async session => {
      const select = `SELECT position, statement, parameters, aspects, schema_change FROM freshet_log WHERE position > ? ORDER BY position LIMIT ${limit}`
      const { rows } = await this.#run(session, select, [position])
      if (rows.length > 0) await this.#flush(session)
      return rows.map(([at, text, values, aspects, kind]) => ({
        position: Number(at),
        text: String(text),
        ...(Number(kind) === MOVE
          ? { values: [], move: JSON.parse(String(values)) }
          : { values: JSON.parse(String(values)) }),
        aspects: JSON.parse(String(aspects)),
        isSchemaChange: Number(kind) > 0,
      }))
    })
  }

  placedAt(position: number): Promise<readonly PlacedShard[] | undefined> {
    return this.#use(async session => {
      const select = `SELECT parameters FROM freshet_log WHERE schema_change = ${MOVE} AND position <= ? ORDER BY position DESC LIMIT 1`
      const { rows } = await this.#run(session, select, [position])
      return rows[0] && (JSON.parse(String(rows[0][0])) as Move).placed
    })
  }

  head(): Promise<number> {
    return this.#use(async session => headOf(await session.run('SELECT position FROM freshet_log_head WHERE id = 1')))
  }

  changesAfter(position: number): Promise<LogChanges> {
    return this.#use(async session => {
      const head = headOf(await session.run('SELECT position FROM freshet_log_head WHERE id = 1'))
      const aspects = new Map<string, number>()
      // Usually nothing was written since then, and no second read is needed.
      if (head <= position) return { head, aspects }
      const select =
        'SELECT aspects, schema_change, MAX(position) FROM freshet_log WHERE position > ? GROUP BY aspects, schema_change'
      const { rows } = await this.#run(session, select, [position])
      await this.#flush(session)
      for (const [names, isSchemaChange, last] of rows) {
        const changed = JSON.parse(String(names)) as string[]
        for (const aspect of Number(isSchemaChange) > 0 ? [...changed, SCHEMA_ASPECT] : changed)
          aspects.set(aspect, Math.max(aspects.get(aspect) ?? 0, Number(last)))
      }
      return { head: Math.max(head, ...aspects.values()), aspects }
    })
  }

  async hold(timeoutMs: number): Promise<{ head: number; release(): Promise<void> }> {
    const { pool, beginWrite, place } = this.#engine
    const session = await pool.open(timeoutMs).catch(error => Promise.reject(shardUnavailable(NAME, place, error)))
    // The hold must end with the time of its query.
    const timer = setTimeout(() => session.destroy(), timeoutMs)
    const release = async () => {
      clearTimeout(timer)
      session.destroy()
    }
    try {
      await session.run(this.#engine.lockWait(timeoutMs))
      await session.run(beginWrite)
      const head = headOf(await session.run('SELECT position FROM freshet_log_head WHERE id = 1 FOR UPDATE'))
      return { head, release }
    } catch (error) {
      await release()
      throw shardUnavailable(NAME, place, error)
    }
  }

  /** Checks on the connection that has the lock: if that connection is gone, so is the lock. */
  async lead(): Promise<boolean> {
    try {
      if (this.#leading?.isAlive) await inTime(this.#leading.run('SELECT 1'), TIMEOUT_MS)
      else this.#leading = await this.#tryLead()
      return this.#leading !== undefined
    } catch (error) {
      await this.resign()
      throw shardUnavailable(NAME, this.#engine.place, error)
    }
  }

  async #tryLead(): Promise<Session | undefined> {
    const session = await this.#engine.pool.open(TIMEOUT_MS)
    let isHeld = false
    try {
      isHeld = await inTime(this.#engine.tryLock(session, LEADER, 0), TIMEOUT_MS)
      return isHeld ? session : undefined
    } finally {
      if (!isHeld) session.destroy()
    }
  }

  async resign(): Promise<void> {
    this.#leading?.destroy()
    this.#leading = undefined
  }

  init(): Promise<void> {
    const { textType, tableOptions, exactText } = this.#engine
    return this.#use(async session => {
      await session.run(
        `CREATE TABLE IF NOT EXISTS freshet_log (position BIGINT PRIMARY KEY, operation ${exactText('VARCHAR(255)')} UNIQUE, fingerprint VARCHAR(80) NOT NULL, statement ${textType} NOT NULL, parameters ${textType} NOT NULL, aspects ${exactText(textType)} NOT NULL, schema_change INT NOT NULL)${tableOptions}`,
      )
      await this.#makeExact(session)
      for (const [table, column] of [
        ['freshet_log_head', 'position'],
        ['freshet_log_flushes', 'flushes'],
      ]) {
        await session.run(
          `CREATE TABLE IF NOT EXISTS ${table} (id INT PRIMARY KEY, ${column} BIGINT NOT NULL)${tableOptions}`,
        )
        await session.run(
          `INSERT INTO ${table} (id, ${column}) SELECT 1, 0 FROM (SELECT COUNT(*) AS n FROM ${table}) AS c WHERE n = 0`,
        )
      }
    })
  }

  async close(): Promise<void> {
    await this.resign()
    this.#engine.pool.close()
  }

  /** Done once, before the first key is looked up: an older log takes some different keys for equal. */
  #madeExact(): Promise<void> {
    if (this.#engine.makeExact === undefined) return Promise.resolve()
    this.#exact ??= this.#use(session => this.#makeExact(session), ALTER_MS_MAX).catch(error => {
      this.#exact = undefined
      throw error
    })
    return this.#exact
  }

  async #makeExact(session: Session): Promise<void> {
    await this.#engine.makeExact?.(session, 'freshet_log', [
      { name: 'operation', type: 'VARCHAR(255)', isRequired: false },
      { name: 'aspects', type: this.#engine.textType, isRequired: true },
    ])
  }

  async #find(session: Session, id: string): Promise<KnownOperation | undefined> {
    const select = 'SELECT position, fingerprint, aspects FROM freshet_log WHERE operation = ?'
    const [row] = (await this.#run(session, select, [id])).rows
    return row && { position: Number(row[0]), fingerprint: String(row[1]), aspects: JSON.parse(String(row[2])) }
  }

  async #replayed(session: Session, known: KnownOperation, fingerprint: string): Promise<Appended> {
    if (known.fingerprint !== fingerprint) throw mismatched()
    await this.#flush(session)
    return { position: known.position, aspects: known.aspects, isReplayed: true }
  }

  async #flush(session: Session): Promise<void> {
    if (this.#engine.dialect === 'mariadb') {
      await session.run('UPDATE freshet_log_flushes SET flushes = flushes + 1 WHERE id = 1')
    }
  }

  #run(session: Session, text: string, values: readonly (string | number)[] = []): Promise<SessionResult> {
    return session.run(this.#engine.spell(text), values)
  }

  #use<Result>(work: (session: Session) => Promise<Result>, timeoutMs = TIMEOUT_MS): Promise<Result> {
    const { pool, place } = this.#engine
    return telling(NAME, this.#engine, unusable(NAME, place), () => pool.use(timeoutMs, work))
  }
}

function headOf({ rows }: SessionResult): number {
  if (rows[0] === undefined) throw new Error('its table freshet_log_head is empty')
  return Number(rows[0][0])
}

function overtaken(): FreshetError {
  return new FreshetError(
    'SHARDS_UNSETTLED',
    'Another global write was appended meanwhile. Nothing was done; try again.',
  )
}

function mismatched(): FreshetError {
  return new FreshetError(
    'OPERATION_MISMATCHED',
    'This Idempotency-Key was used for another global write. Nothing was done; use a new key for each write.',
  )
}
