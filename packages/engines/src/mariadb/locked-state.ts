/**
 * The beginning of a transaction: BEGIN, the lock of the head, and all reads, in one round trip; in two if other programs
 * have noted changes.
 */

import type { ClientWindow, ForeignOperation } from '@freshet/core/counters'
import type { Version } from '@freshet/core/store'
import { readForeign, readWindow } from '@freshet/store/commits'
import type { LockedState, Needs } from '@freshet/store/database'
import { decodeNumbers } from '@freshet/store/indexes'
import { toChanged } from '../sql/log-rows.js'
import type { SharedTables } from '../sql/tables/shared-tables.js'
import type { Link, MariadbConnection } from './mariadb-connection.js'
import { type Ask, textOf, toMap, toValues, viewOf } from './mariadb-views.js'
import { command, SHARED_FORMAT_VERSION, type Statement, type Statements } from './statements.js'
import { type StorePlace, takeStatement } from './tables/table-statements.js'
import { isFull, NOTHING_TAKEN, type Taken, takenIn } from './tables/table-writes.js'

export const BEGIN: Statement = command('START TRANSACTION READ WRITE')

export interface LockingOptions {
  readonly line: MariadbConnection
  readonly link: Link
  readonly statements: Statements
  readonly store: StorePlace
  /** The size limit of an object. */
  readonly bytesMax: number
  /** The tables as last known. Undefined: none are known. */
  readonly tables: SharedTables | undefined
}

export interface Locked {
  readonly state: LockedState
  readonly engineMs: number
  /** What other programs have done to tables. */
  readonly taken: Taken
  /** The list of tables, according to the database; undefined if it was not read, although there may be some. */
  readonly tablesText: string | undefined
}

type Wanted = Exclude<keyof Needs, 'taking'>

export async function lockAndRead(options: LockingOptions, needs: Needs, nowMs: number): Promise<Locked> {
  const { line, link, statements, tables } = options
  const spelled: readonly [Wanted, (names: readonly string[]) => Statement][] = [
    ['indexes', names => statements.indexesOf(names)],
    ['keys', names => statements.valuesOf(names)],
    ['buckets', names => statements.versionsOf(names)],
    ['tags', names => statements.tagVersions(names)],
    ['clients', names => statements.windowsOf(names)],
    ['foreign', names => statements.foreign(names)],
  ]
  const namesOf = (what: Wanted) =>
    what === 'indexes' ? [...new Set([...needs.indexes, ...(tables?.buckets ?? [])])] : [...needs[what]]
  const asked = spelled.filter(([what]) => namesOf(what).length > 0)
  const [, , heads, ...answers] = await line.script(link, [
    BEGIN,
    statements.lock(),
    statements.state(nowMs),
    ...asked.map(([what, spell]) => spell(namesOf(what))),
    ...(tables ? [statements.sharedTables()] : []),
  ])
  const rowsOf = (what: Wanted) => answers[asked.findIndex(each => each[0] === what)] ?? []
  const [position, timeMs, trimmedTo, numbers, engineMs, format] = heads![0] as [
    ...[number, number, number, Buffer, number, number],
  ]
  const shared = tables ? answers.at(-1)! : []
  const tablesText =
    tables || format < SHARED_FORMAT_VERSION ? shared.map(([record]) => textOf(record)).join('\n') : undefined
  const isBackfill = needs.taking === 'backfill'
  const isNoted = needs.taking !== undefined && (shared[0]?.[1] === 1 || isBackfill)
  const isTaken = tables !== undefined && !tables.isEmpty && tables.text === tablesText && isNoted
  const taken = isTaken ? await take(options, tables, isBackfill) : NOTHING_TAKEN
  const ask: Ask = statement => line.rowsOn(link, statement)
  const state: LockedState = {
    head: { position, timeMs, trimmedTo, numbers: decodeNumbers(numbers) },
    incoming: { writes: taken.writes, noted: taken.count, isFull: isFull(taken) },
    values: toValues(rowsOf('keys')),
    buckets: toMap(rowsOf('buckets'), version => version as Version),
    indexes: toMap(rowsOf('indexes'), record => record as Buffer),
    tags: toMap(rowsOf('tags'), version => version as Version),
    windows: toMap(rowsOf('clients'), (record): ClientWindow => readWindow(textOf(record))),
    foreign: toMap(rowsOf('foreign'), (record): ForeignOperation => readForeign(textOf(record))),
    more: async keys => toValues(await ask(statements.valuesOf(keys))),
    page: (bucket, range) => viewOf(statements, ask).page(bucket, range),
    count: async (low, high) => (await ask(statements.count(low, high)))[0]![0] as number,
    changedAfter: async (after, batches) =>
      toChanged(await ask(statements.changedAfter(after, batches)), after, batches),
  }
  return { state, engineMs, taken, tablesText }
}

async function take(options: LockingOptions, { tables }: SharedTables, isBackfill: boolean): Promise<Taken> {
  const { line, link, store, bytesMax } = options
  const taking = { store, tables, isBackfill, bytesMax }
  return takenIn(taking, await line.rowsOn(link, takeStatement(taking)))
}
