/**
 * The log in Cassandra: a sequence of slots without gaps, each written once, by lightweight transaction.
 *
 *     UPDATE log SET head = n, ... WHERE part = p AND slot = n IF head = n - 1
 *
 * `head` is a static column of the partition, so the condition is about the partition, which is what Cassandra's Paxos orders.
 * If the update is refused, another server has appended first. A server appends to slot n only when it knows slot n - 1, so
 * there are no gaps.
 *
 * Reads ask a majority, and that is enough: an append is acknowledged when a majority has it, so every later read finds it. A
 * read may return a record that only a minority has yet, but then Cassandra first writes it to the other nodes that were asked
 * (read_repair = BLOCKING, the default). So once one read has returned a record, all later reads return it. A serial read would
 * also finish an append whose server has crashed. That append was never acknowledged, so no client misses it; the next append
 * finishes it, and is refused because of it.
 */
import type { LogEntry, Position } from '@freshet/core/store'
import type { types } from 'cassandra-driver'
import type { LogRecord } from '../log/log-record.js'
import { type ChangeLog as LoggedChangeLog, type LogPage, SlotsGone } from '../log/log-storage.js'
import { columnsOf, entriesInRow, recordOf, stateOf } from './record-columns.js'
import type { Session } from './session.js'
import { SLOTS_PER_PART } from './statements.js'

const RECORDS_PER_READ = 32
/** A log is trimmed after minutes at the earliest, so a shorter sleep misses nothing. */
const SLEPT_MS = 30_000

export class ChangeLog implements LoggedChangeLog {
  readonly #session: Session
  readonly #store: string
  readonly #clocks: readonly (() => number)[]
  /** By each of the clocks: when this server last knew that no unread record had been deleted. */
  #readMs: readonly number[]

  /** `nowMs`: the store's time, which is set forward when this machine reconnects to others. */
  constructor(session: Session, store: string, nowMs: () => number) {
    this.#session = session
    this.#store = store
    // The first clock stops while the machine sleeps, and the others may be set back: the clock that advanced furthest counts.
    this.#clocks = [() => performance.now(), () => Date.now(), nowMs]
    this.#readMs = this.#clocks.map(clock => clock())
  }

  async append(record: LogRecord): Promise<number | undefined> {
    const part = partOf(record.slot)
    const isFirst = record.slot % SLOTS_PER_PART === 0
    const before = isFirst ? null : record.slot - 1
    const columns = [record.slot, ...columnsOf(record), this.#store, part, record.slot, before]
    const found = await this.#session.compareAndSet('append', columns)
    if (found !== undefined) return found.head === null ? -1 : found.head.toNumber()
    if (isFirst) await this.#session.write('log', 'setPart', [this.#store, part, part])
    return undefined
  }

  /**
   * Some of the records after a slot. If there are fewer than `RECORDS_PER_READ` and the partition is not full, these are all.
   */
  async read(after: number): Promise<LogPage> {
    const part = partOf(after + 1)
    const { rows } = await this.#session.read('log', 'records', [this.#store, part, after, RECORDS_PER_READ])
    if (rows.length === 0 && (await this.#isGone(part, after))) throw new SlotsGone(after)
    const records = rows.map(recordOf)
    const last = records.at(-1)?.slot ?? after
    return { records, isEnd: rows.length < RECORDS_PER_READ && (rows.length === 0 || partOf(last + 1) === part) }
  }

  /** Nothing follows: the records may have been deleted, if this server slept at least as long as that takes. */
  async #isGone(part: number, after: number): Promise<boolean> {
    const nowMs = this.#clocks.map(clock => clock())
    if (nowMs.some((ms, i) => ms - this.#readMs[i]! >= SLEPT_MS) && (await this.#isDeleted(part, after))) return true
    // Only now, after the check: other reads that ran at the same time slept as well.
    this.#readMs = nowMs
    return false
  }

  /** The partition's `head` remains when its records are deleted. */
  async #isDeleted(part: number, after: number): Promise<boolean> {
    const found = (await this.#session.read('log', 'head', [this.#store, part])).first()
    if (!found?.head || found.head.toNumber() <= after) return false
    return (await this.#session.read('log', 'records', [this.#store, part, after, 1])).rows.length === 0
  }

  async last(): Promise<LogRecord | undefined> {
    const hint = (await this.#session.read('log', 'part', [this.#store])).first()
    let last: types.Row | undefined
    // A server that begins a partition writes the hint only after that, so the hint may be behind.
    for (let part = hint ? hint.part.toNumber() : 0; ; part++) {
      const row = (await this.#session.read('log', 'lastRecord', [this.#store, part])).first()
      if (!row) return last && recordOf(last)
      last = row
      if (row.slot.toNumber() % SLOTS_PER_PART !== SLOTS_PER_PART - 1) return recordOf(row)
    }
  }

  async changes(
    after: Position,
    limit: number,
    { firstPart, lastSlot }: { readonly firstPart: number; readonly lastSlot: number },
  ): Promise<LogEntry[]> {
    const entries: LogEntry[] = []
    let slot = (await this.partBefore(after, firstPart, partOf(lastSlot))) * SLOTS_PER_PART - 1
    while (entries.length < limit && slot < lastSlot) {
      const parameters = [this.#store, partOf(slot + 1), slot, SLOTS_PER_PART]
      const { rows } = await this.#session.read('log', 'changes', parameters)
      if (rows.length === 0) break
      for (const row of rows) {
        slot = row.slot.toNumber()
        if (slot <= lastSlot) entries.push(...entriesInRow(row).filter(({ position }) => position > after))
      }
    }
    return entries
  }

  async partBefore(position: Position, firstPart: number, lastPart: number): Promise<number> {
    let [low, high] = [firstPart, lastPart]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      const { rows } = await this.#session.read('log', 'changes', [this.#store, middle, middle * SLOTS_PER_PART - 1, 1])
      if (rows[0] !== undefined && stateOf(rows[0]).position <= position) low = middle
      else high = middle - 1
    }
    return low
  }

  partOf(slot: number): number {
    return partOf(slot)
  }

  async dropPart(part: number): Promise<void> {
    await this.#session.write('log', 'dropPart', [this.#store, part])
  }
}

function partOf(slot: number): number {
  return Math.floor(slot / SLOTS_PER_PART)
}
