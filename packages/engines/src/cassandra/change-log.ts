/**
 * The log in Cassandra: a sequence of slots without gaps, each written once, by lightweight transaction.
 *
 *     UPDATE log SET head = n, ... WHERE part = p AND slot = n IF head = n - 1
 *
 * `head` is the partition's own, so the condition is about the partition, which is what Cassandra's Paxos orders. Whoever is refused
 * has been overtaken. Nobody appends to n before he knows of n - 1, so there are no gaps.
 *
 * What is read is read by a majority, and that is enough: an append is acknowledged when a majority has it, so whoever reads later
 * meets it. What a majority does not have yet may be read from one node, but then Cassandra brings the others that were asked up to it
 * before it answers (read_repair = BLOCKING, the default): so what was read once is read by all from then on. A serial read would, besides,
 * finish an append that its server did not live to finish. Nobody was told of that one, so nobody misses it; the next append
 * finishes it, and is refused by it.
 */
import type { LogEntry, Position } from '@freshet/core/store'
import type { types } from 'cassandra-driver'
import type { LogRecord } from '../log/log-record.js'
import { type ChangeLog as LoggedChangeLog, type LogPage, SlotsGone } from '../log/log-storage.js'
import { columnsOf, entriesInRow, recordOf, stateOf } from './record-columns.js'
import type { Session } from './session.js'
import { SLOTS_PER_PART } from './statements.js'

const RECORDS_PER_READ = 32
/** Logs are trimmed after minutes at the earliest. */
const SLEPT_MS = 30_000

export class ChangeLog implements LoggedChangeLog {
  readonly #session: Session
  readonly #store: string
  readonly #clocks: readonly (() => number)[]
  /** By each of the clocks, when it was last known that nothing was deleted unread. */
  #readMs: readonly number[]

  /** `nowMs`: the store's time, which is set forward when this machine comes back among others. */
  constructor(session: Session, store: string, nowMs: () => number) {
    this.#session = session
    this.#store = store
    // The first does not go on while the machine sleeps, the others may be set back: whichever has gone on furthest tells.
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

  /** Some of the records after a slot; fewer than `RECORDS_PER_READ` and not the last of a partition: these are all. */
  async read(after: number): Promise<LogPage> {
    const part = partOf(after + 1)
    const { rows } = await this.#session.read('log', 'records', [this.#store, part, after, RECORDS_PER_READ])
    if (rows.length === 0 && (await this.#isGone(part, after))) throw new SlotsGone(after)
    const records = rows.map(recordOf)
    const last = records.at(-1)?.slot ?? after
    return { records, isEnd: rows.length < RECORDS_PER_READ && (rows.length === 0 || partOf(last + 1) === part) }
  }

  /** Nothing follows: it may have been deleted, while this server slept for as long as that takes at least. */
  async #isGone(part: number, after: number): Promise<boolean> {
    const nowMs = this.#clocks.map(clock => clock())
    if (nowMs.some((ms, i) => ms - this.#readMs[i]! >= SLEPT_MS) && (await this.#isDeleted(part, after))) return true
    // Not before it is known: others who read meanwhile have slept as well.
    this.#readMs = nowMs
    return false
  }

  /** How far a part goes is known also when its records are deleted. */
  async #isDeleted(part: number, after: number): Promise<boolean> {
    const found = (await this.#session.read('log', 'head', [this.#store, part])).first()
    if (!found?.head || found.head.toNumber() <= after) return false
    return (await this.#session.read('log', 'records', [this.#store, part, after, 1])).rows.length === 0
  }

  async last(): Promise<LogRecord | undefined> {
    const hint = (await this.#session.read('log', 'part', [this.#store])).first()
    let last: types.Row | undefined
    // Whoever begins a partition says so after it.
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
