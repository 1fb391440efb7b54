/**
 * PostgreSQL as a `SqlEngine`. Four kinds of connections, each pipelined: one for all reads of a single statement, which also
 * hears of commits (LISTEN); one for transactions, one at a time; one for all else that writes; and a few for reads of several
 * statements, as REPEATABLE READ transactions, each of which sees one state.
 *
 * A transaction takes two round trips: BEGIN, the lock of the head and all reads are sent at once; then, when it is decided, all
 * writes and COMMIT. Each statement of READ COMMITTED sees what was committed before it began, so what follows the lock sees
 * everything up to the head's position.
 *
 * Nothing is seen before it is durable: with synchronous_commit on, a transaction is taken from the list of those under way only
 * after its commit record is flushed (RecordTransactionCommit before ProcArrayEndTransaction, src/backend/access/transam/xact.c;
 * https://www.postgresql.org/docs/15/wal-async-commit.html).
 */
import type { ClientWindow, ForeignOperation } from '@freshet/core/counters'
import type { BucketChange, Key, LogEntry, Position, Snapshot, StoredValue, Version, Write } from '@freshet/core/store'
import type pg from 'pg'
import { entriesUnder, indexPrefix } from '../embedded/indexes/index-keys.js'
import { decodeIndexes, decodeNumbers, encodeNumbers, type IndexRecord } from '../embedded/indexes/index-records.js'
import { encodeLogBatch } from '../embedded/records.js'
import { entriesOf, toChanged } from '../sql/log-rows.js'
import { readForeign, readWindow, spellForeign, spellWindow } from '../sql/operation-records.js'
import { retrying } from '../sql/retrying.js'
import {
  type BucketPage,
  type Changes,
  EngineBusy,
  type EntriesRange,
  type Head,
  type KeyedValue,
  type KeyRange,
  type LockedState,
  type Needs,
  type SqlEngine,
  type SqlStandby,
  type SqlView,
} from '../sql/sql-engine.js'
import { StateLines } from '../sql/state-lines.js'
import { byteStrings, doubles, integers, texts } from './arrays.js'
import type { Line, Row } from './line.js'
import type { StatementName } from './statements.js'
import { isAboutNames, SharedTables, TAKEN_MAX, type TableWrites, toRefusal } from './tables/shared-tables.js'

/** Whatever the database's own default is. */
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'
const DELETE_MAX = 1000
/** So long a row that another program has locked is waited for: meanwhile nobody can commit. */
const ROW_WAIT_MS = 250

export interface PostgresEngineOptions {
  readonly place: string
  readonly reads: Line
  /** For transactions. */
  readonly writes: Line
  /** For all other writes: in the middle of a transaction they would be undone with it. */
  readonly others: Line
  /** For reads of several statements. */
  readonly states: readonly Line[]
  /** Of notifications. */
  readonly channel: string
  readonly waitMsMax: number
  /** After a statement about tables that are buckets has failed. */
  readonly describeTablesAgain: () => Promise<void>
}

export type StandbyLines = Pick<PostgresEngineOptions, 'place' | 'reads' | 'states'>

/** How statements are asked for: on some connection, or on this one. */
type Ask = (name: StatementName, values?: unknown[]) => Promise<readonly Row[]>

export class PostgresEngine implements SqlEngine {
  readonly place: string
  readonly #options: PostgresEngineOptions
  readonly #view: SqlView
  readonly #states: StateLines<Line>
  #tables = new SharedTables('')
  #sharesTables = false

  constructor(options: PostgresEngineOptions) {
    this.place = options.place
    this.#options = options
    this.#states = new StateLines(options.states)
    this.#view = viewOf((name, values) => this.#read(name, values))
  }

  latest(keys: readonly Key[]): Promise<ReadonlyMap<Key, StoredValue>> {
    return this.#read('lockedValues', [texts(keys)]).then(toValues)
  }

  values(keys: readonly Key[]): Promise<Snapshot<ReadonlyMap<Key, StoredValue>>> {
    return this.#view.values(keys)
  }

  page(bucket: Key, range: KeyRange): Promise<BucketPage> {
    return this.#view.page(bucket, range)
  }

  indexes(bucket: Key): ReturnType<SqlView['indexes']> {
    return this.#view.indexes(bucket)
  }

  tagVersions(tags: readonly string[]): Promise<ReadonlyMap<string, Version>> {
    return this.#view.tagVersions(tags)
  }

  entries(range: EntriesRange): Promise<readonly Buffer[]> {
    return this.#view.entries(range)
  }

  async buckets(): Promise<readonly BucketChange[]> {
    return (await this.#read('buckets')).map(([bucket, version]) => ({ bucket, version }) as BucketChange)
  }

  get sharesTables(): boolean {
    return this.#sharesTables
  }

  async head(): Promise<Head> {
    const [row] = await this.#read('head')
    this.#sharesTables = row![4] as boolean
    return { ...toHead(row!), isPending: row![3] as boolean }
  }

  async changes(after: Position, batches: number): Promise<{ trimmedTo: Position; entries: LogEntry[] }> {
    const rows = await this.#read('changes', [after, batches])
    return {
      trimmedTo: rows[0]![0] as Position,
      entries: entriesOf(
        rows.map(row => row.slice(1)),
        after,
      ),
    }
  }

  async recall(name: string): Promise<Uint8Array | undefined> {
    return (await this.#read('recall', [name]))[0]?.[0] as Buffer | undefined
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    await this.#again(() => this.#options.others.rows('remember', [name, value]))
  }

  async hold(name: string, holder: string, ms: number): Promise<boolean> {
    const rows = await this.#again(() => this.#options.others.rows('hold', [name, holder, ms]))
    return rows.length === 1
  }

  async trim(upTo: Position): Promise<void> {
    const { others } = this.#options
    await this.#again(() => others.rows('trim', [upTo]))
    // Whoever reads has been told that these are gone.
    await this.#whileMany(() => others.rows('deleteTrimmed', [DELETE_MAX]))
  }

  async forgetOperations({ clientsMs, foreignMs }: { clientsMs: number; foreignMs: number }): Promise<void> {
    const { others } = this.#options
    await this.#whileMany(() => others.rows('forgetClients', [clientsMs, DELETE_MAX]))
    await this.#whileMany(() => others.rows('forgetForeign', [foreignMs, DELETE_MAX]))
  }

  async countOperations(): Promise<{ clients: number; foreign: number; diskBytes: number }> {
    const [clients, foreign, diskBytes] = (await this.#read('countOperations'))[0] as [number, number, number]
    return { clients, foreign, diskBytes }
  }

  async unfinishedIndexes(): Promise<{ buckets: readonly Key[]; dropped: readonly number[] }> {
    const [numbers, buckets] = (await this.#read('unfinished'))[0] as [string, string[]]
    return { buckets, dropped: decodeNumbers(Buffer.from(numbers)).dropped }
  }

  async removeEntries(index: number, limit: number): Promise<number> {
    const { low, high } = entriesUnder(indexPrefix(index))
    const rows = await this.#again(() => this.#options.others.rows('removeEntries', [low, high, limit]))
    return rows.length
  }

  async inOneState<Result>(read: (view: SqlView) => Promise<Result>): Promise<Result> {
    return this.#states.use(line => this.#again(() => readState(line, read)))
  }

  async transact(
    needs: Needs,
    nowMs: number,
    decide: (state: LockedState) => Promise<Changes | undefined>,
  ): Promise<void> {
    const { writes } = this.#options
    const client = await writes.connected()
    const ask: Ask = (name, values) => writes.rowsOn(client, name, values)
    try {
      const { state, engineMs, taken, tablesText } = await lockAndRead(writes, client, ask, needs, nowMs, this.#tables)
      if (tablesText !== this.#tables.text) {
        this.#tables = new SharedTables(tablesText)
        throw new EngineBusy(new Error('The tables that are buckets have become others.'))
      }
      const changes = await decide(state)
      if (changes !== undefined) await this.#write(client, changes, engineMs, state.incoming.writes)
      // Not COMMIT, unless it was noted what others have done: the lock would be flushed to the disk.
      else if (taken === 0) writes.command(client, 'ROLLBACK').catch(() => {})
      else await writes.command(client, 'COMMIT', true)
    } catch (error) {
      // If there is no transaction any more, there is nothing to do, and that is well.
      writes.command(client, 'ROLLBACK').catch(() => {})
      if (this.#tables.isEmpty || !isAboutNames(error)) throw error
      // Somebody has dropped or renamed columns, or a table.
      await this.#options.describeTablesAgain().catch(() => {
        throw error
      })
      this.#tables = new SharedTables('')
      throw new EngineBusy(error)
    }
  }

  async isCommitted(position: Position, batch: string): Promise<boolean | undefined> {
    const { writes } = this.#options
    const client = await writes.connected()
    const answers = await Promise.all([
      writes.command(client, BEGIN),
      writes.rowsOn(client, 'lock'),
      writes.rowsOn(client, 'isCommitted', [position, batch]),
      writes.command(client, 'COMMIT'),
    ])
    const [trimmedTo, isThere] = answers[2][0] as [Position, boolean]
    return isThere || trimmedTo < position ? isThere : undefined
  }

  async tick(nowMs: number): Promise<Head> {
    const { writes } = this.#options
    const client = await writes.connected()
    // Nobody waits for the disk: should this be lost, the clock goes on from what the log has.
    const answers = await Promise.all([
      writes.command(client, `${BEGIN}; SET LOCAL synchronous_commit = off`),
      writes.rowsOn(client, 'lock'),
      writes.rowsOn(client, 'tick', [nowMs]),
      writes.command(client, 'COMMIT'),
    ])
    return toHead(answers[2][0]!)
  }

  async close(): Promise<void> {
    const { reads, writes, others, states } = this.#options
    await Promise.all([reads, writes, others, ...states].map(line => line.close()))
  }

  async #write(client: pg.Client, changes: Changes, engineMs: number, taken: readonly Write[]): Promise<void> {
    const { writes, channel } = this.#options
    const toTables = this.#tables.isEmpty ? [] : this.#tables.writesOf(changes.values, taken)
    if (toTables.length > 0) await this.#writeTables(client, toTables)
    const sent = writesOf(changes, engineMs, channel).map(([name, values]) => writes.rowsOn(client, name, values, true))
    const committing = writes.command(client, 'COMMIT', true).catch(error => {
      // Constraints that are checked in the end.
      throw toTables.length > 0 ? toRefusal(toTables[0]!.table, error) : error
    })
    const outcomes = await Promise.allSettled([...sent, committing])
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    if ((await committing) !== 'COMMIT') throw new EngineBusy(new Error('The transaction was rolled back.'))
  }

  /** What is put goes first, in the order of tables as they were first written to; then what is removed, in the other. */
  async #writeTables(client: pg.Client, toTables: readonly TableWrites[]): Promise<void> {
    const { writes } = this.#options
    const run = (kind: 'put' | 'remove') => (each: TableWrites) =>
      each.statements
        .filter(({ name }) => name.startsWith(kind))
        .map(async statement =>
          writes.rowsOfText(client, statement).catch(error => Promise.reject(toRefusal(each.table, error))),
        )
    const limiting = writes.command(client, `SET LOCAL lock_timeout = ${ROW_WAIT_MS}`)
    const sent = [limiting, ...toTables.flatMap(run('put')), ...toTables.toReversed().flatMap(run('remove'))]
    const settling = toTables.map(({ settling }) => writes.rowsOfText(client, settling))
    const outcomes = await Promise.allSettled([...sent, ...settling])
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    for (const [row] of await Promise.all(settling)) {
      if (row![0] === true) throw new EngineBusy(new Error('Somebody else has changed the same rows meanwhile.'))
    }
  }

  #read(name: StatementName, values?: unknown[]): Promise<readonly Row[]> {
    const { reads } = this.#options
    return this.#again(() => reads.rows(name, values))
  }

  /** Only for what may be done twice. */
  #again<Result>(work: () => Promise<Result>): Promise<Result> {
    return retrying(this.#options, work)
  }

  async #whileMany(remove: () => Promise<readonly Row[]>): Promise<void> {
    while ((await this.#again(remove)).length === DELETE_MAX);
  }
}

/** A standby: it is read from in the same way, and what fails is not tried again. */
export function createStandby({ place, reads, states }: StandbyLines): SqlStandby {
  const free = new StateLines(states)
  return {
    place,
    ...viewOf((name, values) => reads.rows(name, values)),
    inOneState: read => free.use(line => readState(line, read)),
    close: async () => {
      await Promise.all([reads, ...states].map(line => line.close()))
    },
  }
}

/** Reads by way of statements that are asked for somehow. */
function viewOf(ask: Ask): SqlView {
  return {
    async page(bucket, range) {
      return toPage(await ask(range.isDescending ? 'pageDown' : 'page', pageValues(bucket, range)))
    },
    async values(keys) {
      const rows = await ask('values', [texts(keys)])
      return { value: toValues(rows.map(row => row.slice(1))), position: rows[0]![0] as Position }
    },
    async indexes(bucket) {
      const [position, version, record] = (await ask('indexes', [bucket]))[0] as [
        Position,
        Version | null,
        string | null,
      ]
      return { value: { indexes: toIndexes(record), version: version ?? 0 }, position }
    },
    async tagVersions(tags) {
      return new Map((await ask('tagVersions', [texts(tags)])) as [string, Version][])
    },
    async entries({ low, high, after, isDescending, limit }) {
      // What follows an entry at once has one more byte.
      const bounds = isDescending ? [low, after ?? high] : [after ? Buffer.concat([after, ZERO]) : low, high]
      const rows = await ask(isDescending ? 'entriesDown' : 'entries', [...bounds, limit])
      return rows.map(([entry]) => entry as Buffer)
    },
  }
}

const ZERO = Buffer.of(0)

async function readState<Result>(line: Line, read: (view: SqlView) => Promise<Result>): Promise<Result> {
  const client = await line.connected()
  const beginning = line.command(client, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  try {
    const [result] = await Promise.all([read(viewOf((name, values) => line.rowsOn(client, name, values))), beginning])
    return result
  } finally {
    // What it had to tell has been told.
    line.command(client, 'COMMIT').catch(() => {})
  }
}

async function lockAndRead(
  line: Line,
  client: pg.Client,
  ask: Ask,
  needs: Needs,
  nowMs: number,
  tables: SharedTables,
): Promise<{
  readonly state: LockedState
  readonly engineMs: number
  /** How many notes of others there were. */
  readonly taken: number
  /** What the database says that the tables are. */
  readonly tablesText: string
}> {
  const some = (name: StatementName, wanted: Iterable<string>) => {
    const names = [...wanted]
    return names.length === 0 ? [] : ask(name, [texts(names)])
  }
  const [, , heads, values, buckets, tags, clients, foreign] = await Promise.all([
    line.command(client, BEGIN),
    ask('lock'),
    ask('state', [nowMs, texts([...needs.indexes, ...tables.buckets])]),
    some('lockedValues', needs.keys),
    some('lockedBuckets', needs.buckets),
    some('tagVersions', needs.tags),
    some('lockedClients', needs.clients),
    some('lockedForeign', needs.foreign),
  ])
  const [position, timeMs, trimmedTo, numbers, engineMs, tablesText, isPending] = heads[0] as [
    ...[number, number, number, string, number],
    ...[string | null, boolean],
  ]
  const isTaken = !tables.isEmpty && (tablesText ?? '') === tables.text && (isPending || needs.isBackfill)
  const noted = isTaken ? await line.rowsOfText(client, tables.take(needs.isBackfill === true)) : undefined
  const { count: taken, writes } = noted ? tables.taken(noted) : { count: 0, writes: [] }
  const indexes = heads.map(row => row.slice(7)).filter(([bucket]) => bucket !== null)
  const state: LockedState = {
    head: { position, timeMs, trimmedTo, numbers: decodeNumbers(Buffer.from(numbers)) },
    incoming: { writes, noted: taken, isFull: taken === TAKEN_MAX },
    values: toValues(values),
    buckets: new Map(buckets as [Key, Version][]),
    indexes: new Map(indexes.map(([bucket, record]) => [bucket as Key, Buffer.from(record as string)])),
    tags: new Map(tags as [string, Version][]),
    windows: new Map(
      clients.map(([name, record]): [string, ClientWindow] => [name as string, readWindow(record as string)]),
    ),
    foreign: new Map(
      foreign.map(([id, record]): [string, ForeignOperation] => [id as string, readForeign(record as string)]),
    ),
    more: async keys => toValues(await ask('lockedValues', [texts(keys)])),
    page: (bucket, range) => viewOf(ask).page(bucket, range),
    count: async (low, high) => (await ask('count', [low, high]))[0]![0] as number,
    changedAfter: async (after, batches) => toChanged(await ask('changedAfter', [after, batches]), after, batches),
  }
  return { state, engineMs, taken, tablesText: tablesText ?? '' }
}

/** The statements that write, with what they write; only those that have something to. */
function writesOf(changes: Changes, engineMs: number, channel: string): [StatementName, unknown[]][] {
  const { values, indexes, numbers, entries, tags, windows, foreign, log, timeMs } = changes
  const removed = [...values].filter(each => each[1] === undefined).map(([key]) => key)
  const kept = [...entries.values()].filter(({ isThere }) => isThere).map(({ key }) => key)
  const dropped = [...entries.values()].filter(({ isThere }) => !isThere).map(({ key }) => key)
  const all: [StatementName, number, () => unknown[]][] = [
    ['putCommits', log ? 1 : 0, () => [...valuesOf(changes), ...logOf(changes), timeMs, engineMs, channel]],
    ['putTime', log ? 0 : 1, () => [timeMs, engineMs]],
    ['putNumbers', numbers ? 1 : 0, () => [Buffer.from(encodeNumbers(numbers!)).toString()]],
    ['removeValues', removed.length, () => [texts(removed)]],
    ['putIndexes', indexes.size, () => [texts(indexes.keys()), byteTexts(indexes.values())]],
    ['dropEntries', dropped.length, () => [byteStrings(dropped)]],
    ['putEntries', kept.length, () => [byteStrings(kept)]],
    ['putTags', tags.size, () => [texts(tags.keys()), integers(tags.values())]],
    [
      'putClients',
      windows.size,
      () => [
        texts(windows.keys()),
        doubles(Array.from(windows.values(), ({ lastMs }) => lastMs)),
        texts(Array.from(windows.values(), spellWindow)),
      ],
    ],
    [
      'putForeign',
      foreign.size,
      () => [
        texts(foreign.keys()),
        doubles(Array.from(foreign.values(), ({ timeMs }) => timeMs)),
        texts(Array.from(foreign.values(), spellForeign)),
      ],
    ],
  ]
  return all.filter(([, count]) => count > 0).map(([name, , make]) => [name, make()])
}

function valuesOf({ values, buckets }: Changes): Buffer[] {
  const written = [...values].filter((each): each is [Key, StoredValue] => each[1] !== undefined)
  return [
    texts(written.map(([key]) => key)),
    integers(written.map(([, { version }]) => version)),
    texts(written.map(([, { contentType }]) => contentType)),
    byteStrings(written.map(([, { body }]) => body)),
    texts(buckets.keys()),
    integers(buckets.values()),
  ]
}

function logOf({ position, timeMs, log }: Changes): unknown[] {
  return [position, log!.batch, encodeLogBatch(timeMs, log!.commits)]
}

/** Texts that are bytes already. */
function byteTexts(values: Iterable<Uint8Array>): Buffer {
  return texts(Array.from(values, value => Buffer.from(value).toString()))
}

function pageValues(bucket: Key, { low, high, limit }: KeyRange): unknown[] {
  return [bucket, low.key, high.key, low.isIncluded, high.isIncluded, limit]
}

function toPage(rows: readonly Row[]): BucketPage {
  const [position, version] = rows[0] as [Position, Version | null]
  const values = rows
    .filter(row => row[2] !== null)
    .map(([, , key, ...value]): KeyedValue => ({ key: key as Key, ...toValue(value) }))
  return { values, version: version ?? 0, position }
}

/** Key and value; a row without is of a head alone. */
function toValues(rows: readonly Row[]): Map<Key, StoredValue> {
  const there = rows.filter(([key]) => key !== null)
  return new Map(there.map(([key, ...value]) => [key as Key, toValue(value)]))
}

function toValue([version, contentType, body]: Row): StoredValue {
  return { version: version as Version, contentType: contentType as string, body: body as Buffer }
}

function toHead([position, timeMs, trimmedTo]: Row): Head {
  return {
    position: position as Position,
    isPending: false,
    timeMs: timeMs as number,
    trimmedTo: trimmedTo as Position,
  }
}

function toIndexes(record: string | null): readonly IndexRecord[] {
  return decodeIndexes(record === null ? undefined : Buffer.from(record))
}
