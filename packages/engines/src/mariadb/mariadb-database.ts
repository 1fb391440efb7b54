/**
 * MariaDB as a `Database`, with InnoDB tables. Its connections: a few for reads of a single statement, pipelined; one for
 * transactions, one at a time; one for all other writes; one for reads of data that may not be on disk yet
 * (`durable-reads.ts`); and a few for reads of several statements, each in one snapshot.
 *
 * A transaction takes two round trips: BEGIN, the lock of the head and all reads are one script; once it is decided, all
 * writes and COMMIT are another. Its connection uses READ COMMITTED: each statement sees what was committed before it began.
 * InnoDB makes a commit visible before it releases its locks, so the statements after the lock see everything up to the
 * head's position.
 *
 * MariaDB sends no notice of commits. So the head is polled while there are listeners.
 */

import { randomUUID } from 'node:crypto'
import type { BucketChange, Key, MaybePromise, Position, StoredValue, Version } from '@freshet/core/store'
import type { Changes, Database, Head, HeadOfLog, LockedState, Needs } from '@freshet/store/database'
import { type AsyncView, EngineBusy, EngineLost, type LogPart, retrying, type View } from '@freshet/store/engine'
import { decodeNumbers, entriesUnder, indexPrefix } from '@freshet/store/indexes'
import { entriesOf } from '../sql/log-rows.js'
import { StateLines } from '../sql/state-lines.js'
import type { ExposedTable } from '../sql/tables/exposed-table.js'
import { SharedTables, type TableChanges } from '../sql/tables/shared-tables.js'
import { DurableReads } from './durable-reads.js'
import { BEGIN, type Locked, lockAndRead } from './locked-state.js'
import type { Link, MariadbConnection, Row } from './mariadb-connection.js'
import { tooLarge } from './mariadb-errors.js'
import { byBytes, COMMIT, headIn, positionIn, SNAPSHOT, textOf, valuesIn, viewOf } from './mariadb-views.js'
import { command, SHARED_FORMAT_VERSION, type Statement, type Statements, sizeOf } from './statements.js'
import type { StorePlace } from './tables/table-statements.js'
import { isAboutNames, type RunScript, type Taken, writeRows } from './tables/table-writes.js'

const ROLLBACK: Statement = command('ROLLBACK')
const DELETE_MAX = 1000
const FOLLOW_MS = 25
/** The part of a packet that is not values. */
const TEXT_BYTES_MAX = 64 * 1024

export interface MariadbDatabaseOptions {
  readonly place: string
  readonly statements: Statements
  readonly store: StorePlace
  readonly reads: readonly MariadbConnection[]
  /** For transactions. */
  readonly writes: MariadbConnection
  /** For all other writes. */
  readonly others: MariadbConnection
  readonly durableReads: MariadbConnection
  /** For reads of several statements. */
  readonly states: readonly MariadbConnection[]
  readonly waitMsMax: number
  /** max_allowed_packet. */
  readonly packetBytesMax: number
  /** Whether commits are flushed, so that a read can wait for that. */
  readonly isFlushed: boolean
  /** Called after a statement about tables that are buckets has failed. */
  readonly describeTablesAgain: () => Promise<void>
}

export class MariadbDatabase implements Database {
  readonly place: string
  readonly #options: MariadbDatabaseOptions
  readonly #statements: Statements
  readonly view: AsyncView
  readonly #durableReads: DurableReads
  readonly #states: StateLines<MariadbConnection>
  /** Everything up to this position is on disk. */
  #durableTo: Position
  #turn = 0
  #tables = new SharedTables('')
  #sharesTables = false
  /** Marks its own notes. */
  readonly #writer = randomUUID()
  #transactions = 0
  #following: NodeJS.Timeout | undefined

  constructor(options: MariadbDatabaseOptions) {
    this.place = options.place
    this.#options = options
    this.#statements = options.statements
    this.#durableReads = new DurableReads(options.durableReads, options.statements.flush())
    this.#durableTo = options.isFlushed ? 0 : Number.POSITIVE_INFINITY
    this.#states = new StateLines(options.states)
    this.view = viewOf(this.#statements, statement => this.#read(statement))
  }

  get sharesTables(): boolean {
    return this.#sharesTables
  }

  /** Polls while `isWanted`, and calls `onHead` with the head, soon after other servers have committed. */
  follow(isWanted: () => boolean, onHead: (head: Head) => void): void {
    let isAsking = false
    const ask = async () => {
      if (isAsking || !isWanted()) return
      isAsking = true
      try {
        onHead(await this.#head())
      } catch {
        // While the database is gone no server commits, and the next read reports it.
      }
      isAsking = false
    }
    this.#following = setInterval(ask, FOLLOW_MS).unref()
  }

  async latest(keys: readonly Key[]): Promise<ReadonlyMap<Key, MaybePromise<StoredValue | undefined>>> {
    const statement = this.#statements.values(keys)
    const rows = await this.#again(() => this.#nextReads().rows(statement))
    const found: Map<Key, MaybePromise<StoredValue | undefined>> = valuesIn(rows)
    if (positionIn(rows) <= this.#durableTo) return found
    for (const key of keys) {
      const value = found.get(key) as StoredValue | undefined
      // It is new, or was deleted at an unknown time.
      if (value === undefined || value.version > this.#durableTo) found.set(key, this.#durableValue(key))
    }
    return found
  }

  async buckets(): Promise<BucketChange[]> {
    const rows = (await this.#read(this.#statements.buckets())).filter(([position]) => position === null)
    return byBytes(rows, 1).map(([, bucket, version]) => ({ bucket: textOf(bucket), version: version as Version }))
  }

  async isTable(bucket: Key): Promise<boolean> {
    // Until the first table is a bucket, this cannot be read.
    await this.head()
    if (!this.#sharesTables) return false
    const rows = await this.#read(this.#statements.sharedTables())
    return rows.some(([record]) => (JSON.parse(textOf(record)) as ExposedTable).bucket === bucket)
  }

  head(): Promise<HeadOfLog> {
    return this.#again(() => this.#head())
  }

  async changes(after: Position, batches: number): Promise<LogPart> {
    const rows = await this.#read(this.#statements.changes(after, batches))
    const [, log, trimmedTo] = headIn(rows)
    const entries = entriesOf(
      rows.map(row => row.slice(3)),
      after,
    )
    entries.sort((a, b) => a.position - b.position)
    return { log: textOf(log), trimmedTo: trimmedTo as Position, entries }
  }

  async recall(name: string): Promise<Uint8Array | undefined> {
    const [row] = await this.#again(() => this.#nextReads().rows(this.#statements.recall(name)))
    return row?.[0] as Buffer | undefined
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    await this.#again(() => this.#options.others.rows(this.#statements.remember(name, value)))
  }

  async hold(name: string, holder: string, ms: number): Promise<boolean> {
    const { others } = this.#options
    const script = this.#statements.hold(name, holder, ms)
    const answers = await this.#again(async () => others.script(await others.connected(), script))
    return answers.at(-1)?.[0]?.[0] === 1
  }

  async trim(upTo: Position): Promise<void> {
    const { others } = this.#options
    await this.#again(() => others.affected(this.#statements.trim(upTo)))
    // `trim` has moved the beginning of the log, so no reader needs these.
    const { trimmedTo } = await this.head()
    await this.#whileMany(() => others.affected(this.#statements.deleteTrimmed(trimmedTo, DELETE_MAX)))
  }

  async forgetOperations({ clientsMs, foreignMs }: { clientsMs: number; foreignMs: number }): Promise<void> {
    const { others } = this.#options
    await this.#whileMany(() => others.affected(this.#statements.forgetClients(clientsMs, DELETE_MAX)))
    await this.#whileMany(() => others.affected(this.#statements.forgetForeign(foreignMs, DELETE_MAX)))
  }

  async countOperations(): Promise<{ clients: number; foreign: number; diskBytes: number }> {
    const rows = await this.#again(() => this.#nextReads().rows(this.#statements.countOperations()))
    const [clients, foreign, diskBytes] = rows[0] as [number, number, number]
    return { clients, foreign, diskBytes }
  }

  async unfinishedIndexes(): Promise<{ buckets: readonly Key[]; dropped: readonly number[] }> {
    const rows = await this.#again(() => this.#nextReads().rows(this.#statements.unfinished()))
    const buckets = rows.filter(([, bucket]) => bucket !== null).map(([, bucket]) => textOf(bucket))
    return { buckets, dropped: decodeNumbers(headIn(rows)[0] as Buffer).dropped }
  }

  async removeEntries(index: number, limit: number): Promise<number> {
    const { low, high } = entriesUnder(indexPrefix(index))
    return this.#again(() => this.#options.others.affected(this.#statements.removeEntries(low, high, limit)))
  }

  async inOneState<Result>(read: (view: View) => Promise<Result>): Promise<Result> {
    return this.#states.use(line => this.#again(() => this.#readState(line, read)))
  }

  async transact(
    needs: Needs,
    nowMs: number,
    decide: (state: LockedState) => Promise<Changes | undefined>,
  ): Promise<void> {
    const { writes } = this.#options
    const link = await writes.connected()
    try {
      const locked = await this.#lockAndRead(link, needs, nowMs)
      const changes = await decide(locked.state)
      if (changes) await this.#write(link, changes, locked)
      else await this.#leave(link, locked)
    } catch (error) {
      // If the transaction is already gone, an error of ROLLBACK does not matter.
      writes.rowsOn(link, ROLLBACK).catch(() => {})
      if (this.#tables.isEmpty || !isAboutNames(error)) throw error
      // Another program has dropped or renamed columns, or a table.
      await this.#options.describeTablesAgain().catch(() => {
        throw error
      })
      this.#tables = new SharedTables('')
      throw new EngineBusy(error)
    }
  }

  async isCommitted(position: Position, batch: string): Promise<boolean | undefined> {
    const { writes } = this.#options
    const { lock, flush } = { lock: this.#statements.lock(), flush: this.#statements.flush() }
    // The batch may be visible without being on disk yet.
    const script = [BEGIN, lock, this.#statements.isCommitted(position, batch), flush, COMMIT]
    const answers = await writes.script(await writes.connected(), script)
    const [isThere, isDecidable] = answers[2]![0] as [number, number]
    return isThere === 1 || isDecidable === 1 ? isThere === 1 : undefined
  }

  async tick(nowMs: number): Promise<Head> {
    const { writes } = this.#options
    const { lock, tick, ticked } = {
      lock: this.#statements.lock(),
      tick: this.#statements.tick(nowMs),
      ticked: this.#statements.ticked(),
    }
    const answers = await writes.script(await writes.connected(), [BEGIN, lock, tick, ticked, COMMIT])
    const row = answers[3]![0]!
    if (row[3] === 1) {
      writes.drop()
      throw new EngineLost('it is read-only, as a replica is', false)
    }
    const head = toHead(row)
    this.#isDurable(head.position)
    return head
  }

  async close(): Promise<void> {
    clearInterval(this.#following)
    const { reads, writes, others, durableReads, states } = this.#options
    await Promise.all([...reads, writes, others, durableReads, ...states].map(line => line.close()))
  }

  /** Throws `EngineBusy` if the list of tables that are buckets has changed. */
  async #lockAndRead(link: Link, needs: Needs, nowMs: number): Promise<Locked> {
    const { writes: line, statements, store, packetBytesMax } = this.#options
    const tables = this.#sharesTables ? this.#tables : undefined
    // Each byte may have to be escaped, and the key is sent along.
    const bytesMax = (packetBytesMax - 2 * TEXT_BYTES_MAX) / 2
    const locked = await lockAndRead({ line, link, statements, store, tables, bytesMax }, needs, nowMs)
    const { tablesText } = locked
    if (tablesText === this.#tables.text) return locked
    this.#sharesTables = true
    if (tablesText !== undefined) this.#tables = new SharedTables(tablesText)
    throw new EngineBusy(new Error('The list of tables that are buckets has changed.'))
  }

  /** The last packet contains COMMIT. */
  async #write(link: Link, changes: Changes, { state, engineMs, taken }: Locked): Promise<void> {
    const toTables = this.#tables.isEmpty ? [] : this.#tables.changesOf(changes.values, state.incoming.writes)
    const deletes = toTables.length === 0 ? taken.deletes : await this.#writeTables(link, toTables, taken)
    await this.#run(link, [...deletes, ...this.#statements.writes(changes, engineMs), COMMIT], true)
    this.#isDurable(changes.position)
  }

  /** Returns the statements that delete notes. */
  async #writeTables(link: Link, changes: readonly TableChanges[], taken: Taken): Promise<readonly Statement[]> {
    const run: RunScript = statements => this.#run(link, statements, false)
    // The notes that were taken are deleted first: notes found later are new changes of other programs.
    await run(taken.deletes)
    return writeRows(run, this.#options.store, changes, `${this.#writer} ${++this.#transactions}`)
  }

  /** In as many packets as necessary. `isUnknown`: the last may have taken effect even if its reply is lost. */
  async #run(link: Link, statements: readonly Statement[], isUnknown: boolean): Promise<readonly (readonly Row[])[]> {
    const { writes, packetBytesMax } = this.#options
    const packets = inPackets(statements, packetBytesMax)
    if (packets === undefined) throw tooLarge(this.place)
    const answers: (readonly Row[])[] = []
    for (const packet of packets) {
      const found = await writes.script(link, packet, isUnknown && packet === packets.at(-1))
      // A single statement returns its own rows instead of a list of results.
      answers.push(...(packet.length === 1 ? [found as unknown as readonly Row[]] : found))
    }
    return answers
  }

  /**
   * The result will be returned to callers, so the state that it was decided from must be durable. Notes of other programs
   * that had no effect are deleted.
   */
  async #leave(link: Link, { state, taken }: Locked): Promise<void> {
    const { writes } = this.#options
    const { position } = state.head
    if (position <= this.#durableTo && taken.count === 0) {
      writes.rowsOn(link, ROLLBACK).catch(() => {})
      return
    }
    await this.#run(link, [...taken.deletes, this.#statements.flush(), COMMIT], true)
    this.#isDurable(position)
  }

  async #readState<Result>(line: MariadbConnection, read: (view: View) => Promise<Result>): Promise<Result> {
    const link = await line.connected()
    const beginning = line.script(link, [SNAPSHOT, this.#statements.head()])
    const reading = read(viewOf(this.#statements, statement => line.rowsOn(link, statement)))
    const [began, done] = await Promise.allSettled([beginning, reading])
    line.rowsOn(link, COMMIT).catch(() => {})
    if (began.status === 'rejected') throw began.reason
    const { position } = toHead(began.value[1]![0]!)
    if (position > this.#durableTo) {
      await line.rowsOn(link, this.#statements.flush())
      this.#isDurable(position)
    }
    if (done.status === 'rejected') throw done.reason
    return done.value
  }

  async #head(): Promise<HeadOfLog> {
    const isShared = this.#sharesTables
    const [row] = await this.#readOnce(isShared ? this.#statements.headOfShared() : this.#statements.head())
    const [, , , log, format, isPending] = row!
    this.#sharesTables = (format as number) >= SHARED_FORMAT_VERSION
    // The first table has just become a bucket.
    if (this.#sharesTables && !isShared) return this.#head()
    return { ...toHead(row!), isPending: isPending === 1, log: textOf(log) }
  }

  #read(statement: Statement): Promise<readonly Row[]> {
    return this.#again(() => this.#readOnce(statement))
  }

  /** A statement that also returns the position. */
  async #readOnce(statement: Statement): Promise<readonly Row[]> {
    const rows = await this.#nextReads().rows(statement)
    if (positionIn(rows) <= this.#durableTo) return rows
    const durable = await this.#durableReads.rows(statement)
    this.#isDurable(positionIn(durable))
    return durable
  }

  async #durableValue(key: Key): Promise<StoredValue | undefined> {
    return (await this.view.values([key])).value.get(key)
  }

  #isDurable(position: Position): void {
    this.#durableTo = Math.max(this.#durableTo, position)
  }

  #nextReads(): MariadbConnection {
    const { reads } = this.#options
    return reads[this.#turn++ % reads.length]!
  }

  /** Only for work that may be repeated. */
  #again<Result>(work: () => Promise<Result>): Promise<Result> {
    return retrying(this.#options, work)
  }

  async #whileMany(remove: () => Promise<number>): Promise<void> {
    while ((await this.#again(remove)) === DELETE_MAX);
  }
}

/** Undefined if one of the statements is too large for any packet. */
function inPackets(statements: readonly Statement[], bytesMax: number): Statement[][] | undefined {
  const packets: Statement[][] = []
  let size = Number.POSITIVE_INFINITY
  for (const statement of statements) {
    const bytes = statement.text.length + sizeOf(statement.values)
    if (bytes > bytesMax - TEXT_BYTES_MAX) return undefined
    size += bytes
    if (size <= bytesMax - TEXT_BYTES_MAX) packets.at(-1)!.push(statement)
    else {
      packets.push([statement])
      size = bytes
    }
  }
  return packets
}

function toHead([position, timeMs, trimmedTo]: Row): Head {
  return {
    position: position as Position,
    isPending: false,
    timeMs: timeMs as number,
    trimmedTo: trimmedTo as Position,
  }
}
