/**
 * SQLite as a `Database`. Reads are synchronous, on connections of this thread: one for reads that finish at once, and a few
 * for reads of several steps, each of which sees one state. All writes go to one thread (`writer.ts`), one transaction at a
 * time. A transaction begins with the file's only lock for writers (BEGIN IMMEDIATE), so transactions of all processes follow
 * each other, and each sees all earlier ones.
 *
 * SQLite sends no notice of commits of other processes. So while there are listeners, it is polled for changes of the file
 * (PRAGMA data_version).
 */

import type { BucketChange, Key, Position, StoredValue } from '@freshet/core/store'
import type { Changes, Database, Head, HeadOfLog, LockedState, Needs } from '@freshet/store/database'
import type { AsyncView, LogPart, View } from '@freshet/store/engine'
import { retrying } from '@freshet/store/engine'
import { decodeNumbers, entriesUnder, indexPrefix } from '@freshet/store/indexes'
import { entriesOf } from '../sql/log-rows.js'
import { StateLines } from '../sql/state-lines.js'
import type { Connection, Row, Value } from './connection.js'
import { BEGIN, COMMIT, lockAndRead, ROLLBACK, writesOf } from './locked-state.js'
import { toBuffer, toLogRows, toValues } from './rows.js'
import { toEngineError } from './sqlite-errors.js'
import { viewOf } from './sqlite-views.js'
import type { StatementName } from './statements.js'
import type { RunOptions, Writer } from './writer.js'

const DELETE_MAX = 1000
const FOLLOW_MS = 10

export interface SqliteDatabaseOptions {
  readonly place: string
  /** For reads that finish at once. */
  readonly reads: Connection
  /** For reads of several steps. */
  readonly states: readonly Connection[]
  readonly writer: Writer
  readonly waitMsMax: number
  /** Called when all connections are closed. */
  readonly onClosed: () => void
}

export class SqliteDatabase implements Database {
  readonly place: string
  readonly sharesTables = false
  readonly #options: SqliteDatabaseOptions
  readonly #reads: Connection
  readonly view: AsyncView
  readonly #states: StateLines<Connection>
  readonly #writing: StateLines<Writer>
  #following: NodeJS.Timeout | undefined
  /** Why the database may no longer be used. */
  #condemned: Error | undefined

  constructor(options: SqliteDatabaseOptions) {
    this.place = options.place
    this.#options = options
    this.#reads = options.reads
    this.view = viewOf(this.place, this.#reads, work => this.#read(async () => this.#reads.inOneState(work)))
    this.#states = new StateLines(options.states)
    this.#writing = new StateLines([options.writer])
  }

  /** Polls while `isWanted`, and calls `onPosition` with the position, soon after other processes have committed. */
  follow(isWanted: () => boolean, onPosition: (position: Position) => void): void {
    let seen: unknown
    this.#following = setInterval(() => {
      if (!isWanted()) return
      try {
        const version = this.#reads.row('dataVersion')![0]
        if (version === seen) return
        onPosition(this.#reads.row('head')![0] as Position)
        seen = version
      } catch {
        // The next poll tries again, and the next read reports the error.
      }
    }, FOLLOW_MS).unref()
  }

  /** From now on every request fails with this error. */
  condemn(reason: Error): void {
    this.#condemned ??= reason
  }

  latest(keys: readonly Key[]): Promise<ReadonlyMap<Key, StoredValue>> {
    return this.#read(async () => {
      const read = () => this.#reads.step({ name: 'value', each: keys.map(key => [key]) })
      return toValues(this.place, keys.length === 1 ? read() : this.#reads.inOneState(read))
    })
  }

  async buckets(): Promise<BucketChange[]> {
    return (await this.#rows('buckets')).map(([bucket, version]) => ({ bucket, version }) as BucketChange)
  }

  async isTable(): Promise<boolean> {
    return false
  }

  async head(): Promise<HeadOfLog> {
    return toHead((await this.#rows('head'))[0]!)
  }

  changes(after: Position, batches: number): Promise<LogPart> {
    return this.#read(async () =>
      this.#reads.inOneState(() => {
        const { log, trimmedTo } = toHead(this.#reads.row('head')!)
        const rows = this.#reads.rows('changes', after, batches)
        return { log, trimmedTo, entries: entriesOf(toLogRows(this.place, rows), after) }
      }),
    )
  }

  async recall(name: string): Promise<Uint8Array | undefined> {
    const [row] = await this.#rows('recall', name)
    return row && toBuffer(row[0])
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    await this.#write('remember', [name, value])
  }

  /** Holders need not survive anything, so this is not flushed. */
  async hold(name: string, holder: string, ms: number): Promise<boolean> {
    return (await this.#write('hold', [name, holder, ms], { isFlushed: false })).length === 1
  }

  async trim(upTo: Position): Promise<void> {
    await this.#write('trim', [upTo])
    // `trim` has moved the beginning of the log, so no reader needs these.
    await this.#whileMany('deleteTrimmed', [])
  }

  async forgetOperations({ clientsMs, foreignMs }: { clientsMs: number; foreignMs: number }): Promise<void> {
    await this.#whileMany('forgetClients', [clientsMs])
    await this.#whileMany('forgetForeign', [foreignMs])
  }

  async countOperations(): Promise<{ clients: number; foreign: number; diskBytes: number }> {
    const [clients, foreign, diskBytes] = (await this.#rows('countOperations'))[0] as [number, number, number]
    return { clients, foreign, diskBytes }
  }

  unfinishedIndexes(): Promise<{ buckets: readonly Key[]; dropped: readonly number[] }> {
    return this.#read(async () =>
      this.#reads.inOneState(() => {
        const [numbers] = this.#reads.row('numbers') as [string]
        const buckets = this.#reads.rows('unfinished').map(([bucket]) => bucket as Key)
        return { buckets, dropped: decodeNumbers(Buffer.from(numbers)).dropped }
      }),
    )
  }

  async removeEntries(index: number, limit: number): Promise<number> {
    const { low, high } = entriesUnder(indexPrefix(index))
    return (await this.#write('removeEntries', [low, high, limit])).length
  }

  inOneState<Result>(read: (view: View) => Promise<Result>): Promise<Result> {
    return this.#states.use(connection =>
      this.#read(async () => {
        connection.rows('begin')
        try {
          return await read(viewOf(this.place, connection, async work => work()))
        } finally {
          connection.rollBack()
        }
      }),
    )
  }

  transact(needs: Needs, nowMs: number, decide: (state: LockedState) => Promise<Changes | undefined>): Promise<void> {
    return this.#writing.use(async writer => {
      this.#checkUsable()
      const { state, engineMs } = await lockAndRead(this.place, writer, needs, nowMs)
      let changes: Changes | undefined
      try {
        changes = await decide(state)
      } catch (error) {
        // If the transaction is already gone, an error of ROLLBACK does not matter.
        await writer.run([ROLLBACK]).catch(() => {})
        throw error
      }
      if (changes === undefined) await writer.run([ROLLBACK])
      else await writer.run([...writesOf(changes, engineMs), COMMIT], { isCommitting: true })
    })
  }

  async isCommitted(position: Position, batch: string): Promise<boolean | undefined> {
    const [rows, heads] = await Promise.all([this.#rows('isCommitted', position, batch), this.#rows('head')])
    if (rows.length > 0) return true
    return toHead(heads[0]!).trimmedTo < position ? false : undefined
  }

  /** No wait for the disk: if this is lost, the clock continues from the times in the log. */
  async tick(nowMs: number): Promise<Head> {
    const options = { isFlushed: false }
    const rows = await this.#writing.use(writer =>
      writer.run([BEGIN, { name: 'tick', each: [[nowMs]] }, COMMIT], options),
    )
    return toHead(rows[1]![0]!)
  }

  async close(): Promise<void> {
    clearInterval(this.#following)
    await this.#writing.use(writer => writer.close())
    for (const connection of this.#options.states) connection.close()
    // Leaves the whole store in the one file.
    this.#reads.emptyLog()
    this.#reads.close()
    this.#options.onClosed()
  }

  #rows(name: StatementName, ...values: Value[]): Promise<readonly Row[]> {
    return this.#read(async () => this.#reads.rows(name, ...values))
  }

  /** Only for work that may be repeated. */
  #read<Result>(work: () => Promise<Result>): Promise<Result> {
    return retrying(this.#options, async () => {
      this.#checkUsable()
      try {
        return await work()
      } catch (error) {
        throw toEngineError(this.place, error, false)
      }
    })
  }

  /** One statement, as a transaction. */
  async #write(name: StatementName, values: readonly Value[], options?: RunOptions): Promise<readonly Row[]> {
    const work = () => this.#writing.use(writer => writer.run([BEGIN, { name, each: [values] }, COMMIT], options))
    return (await retrying(this.#options, work))[1]!
  }

  async #whileMany(name: StatementName, values: readonly Value[]): Promise<void> {
    while ((await this.#write(name, [...values, DELETE_MAX])).length === DELETE_MAX);
  }

  #checkUsable(): void {
    if (this.#condemned) throw this.#condemned
  }
}

function toHead([position, timeMs, trimmedTo, log]: Row): HeadOfLog {
  return {
    position: position as Position,
    isPending: false,
    timeMs: timeMs as number,
    trimmedTo: trimmedTo as Position,
    log: log as string,
  }
}
