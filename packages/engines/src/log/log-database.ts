/**
 * How an engine over a log commits and reads; `log-storage.ts` says what it needs. The log is the truth: a commit is made when
 * its record is appended. From then on every read sees it, since every read also looks at the end of the log. The server that
 * appended writes the rows afterwards. If it crashed first, any server that finds them unwritten writes them.
 *
 * A commit is decided against the state before it, read from rows and from the mirror, and is appended to the slot after that
 * state. If the slot is taken, the state was not the latest: the records in between are applied over it, and the commit is
 * decided again.
 *
 * If the answer to an append is lost, the server repeats the append: the same record, in the same slot. So the record is
 * appended once, either now or by the first attempt, which its id shows. Or another record has the slot, and this one will
 * never be appended.
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type BucketChange,
  type Key,
  type LogEntry,
  type Position,
  positionAtTime,
  type ReadCount,
  type StoredValue,
} from '@freshet/core/store'
import type { ChangedBefore, Changes, LockedState, Needs } from '@freshet/store/database'
import { EngineBusy, EngineLost, isLost, retrying, type Subject, storeDamaged, type View } from '@freshet/store/engine'
import { type Draft, draftOf, fetchNeeds, type StateParts, stateAtEnd } from './commit-state.js'
import { IDENTITY } from './identity.js'
import type { LogDatabaseOptions } from './log-database-options.js'
import { bytesOf, type LogRecord, type LogState, NO_EFFECTS, RecordTooLarge } from './log-record.js'
import { type ChangeLog, type Rows, SlotsGone } from './log-storage.js'
import { copyOf } from './log-view.js'
import { Mirror, type Pin } from './mirror.js'
import { NearestRows } from './nearest-rows.js'
import { anotherLog, firstRecord } from './new-log.js'
import { readOneState } from './one-state.js'
import { RowWriter } from './row-writer.js'
import { Turns } from './turns.js'
import { UnfinishedIndexes } from './unfinished-indexes.js'

/** When this many slots have been appended after a record whose rows are not written, another server writes them. */
const PATIENCE_SLOTS = 64
const PAUSE_MS = 20
/** If a record becomes visible longer than this after its stamp, its keys are put into the log again. */
const LATE_MS = 1000

export class LogDatabase {
  readonly place: string
  readonly #options: LogDatabaseOptions
  readonly #log: ChangeLog
  readonly #rows: Rows
  readonly #turns = new Turns()
  readonly #writer: RowWriter
  #mirror: Mirror
  #looking: Promise<void> | undefined
  /** When this server last read the log to its end, by the store's clock. */
  #lookedMs = Number.NEGATIVE_INFINITY
  #firstPart = 0
  #late: LogRecord[] = []
  /** The last append. If its answer was lost, its outcome is unknown. */
  #lost: LogRecord | undefined
  #isToFence = true
  readonly #nearest: NearestRows | undefined
  readonly #unfinished = new UnfinishedIndexes()
  readonly #decisionReads: Pick<StateParts, 'changedAfter' | 'count'> = {
    changedAfter: (after, limit) => this.#changedAfter(after, limit),
    count: async bucket => this.#unfinished.countIn(bucket) ?? this.#rows.count(bucket),
  }

  private constructor(options: LogDatabaseOptions, last: LogRecord) {
    this.#options = options
    this.place = options.place
    this.#log = options.changeLog
    this.#rows = options.rows
    this.#writer = new RowWriter(options.rows)
    this.#mirror = new Mirror(last)
    this.#nearest = options.readsNearest ? new NearestRows(options.rows) : undefined
  }

  /** Creates the log if it does not exist. Waits up to `waitMsMax` for a log that does not answer. Throws STORE_UNAVAILABLE. */
  static open(options: LogDatabaseOptions): Promise<LogDatabase> {
    return retrying(options, () => LogDatabase.#openOnce(options))
  }

  static async #openOnce(options: LogDatabaseOptions): Promise<LogDatabase> {
    const { changeLog } = options
    let last = await changeLog.last()
    if (last === undefined) {
      // The first server to append creates it.
      await changeLog.append(firstRecord())
      last = await changeLog.last()
    }
    if (last === undefined) throw storeDamaged('there is no log, and a new one could not be begun')
    const database = new LogDatabase(options, last)
    await database.#look()
    await database.#beginIfPutBack(options)
    await database.fence()
    for (const record of database.#mirror.unapplied()) database.#write(record)
    return database
  }

  get state(): LogState {
    return this.#mirror.state
  }

  /** The last slot that this server has followed the log to. */
  get slot(): number {
    return this.#mirror.slot
  }

  /** The rows of all records up to this slot have been written. */
  get applied(): number {
    return this.#mirror.applied
  }

  /** Whether keys of late records are still to be put into the log again. */
  get isLate(): boolean {
    return this.#late.length > 0
  }

  /** Acknowledged writes may have been lost: before the next commit, positions go on from the time of day. */
  distrust(): void {
    this.#isToFence = true
  }

  // Reading.

  /** Follows the log to its end, as of now or later. Calls in the same turn of the event loop share one look. */
  look(): Promise<void> {
    this.#looking ??= Promise.resolve().then(() => {
      this.#looking = undefined
      return this.#look()
    })
    return this.#looking
  }

  async object(key: Key, atLeast?: Position): Promise<StoredValue | undefined> {
    const { objects, state } = this.#mirror
    const isNew = atLeast !== undefined && state.position >= atLeast
    if (objects.has(key)) {
      if (!isNew) await this.look()
      if (objects.has(key)) return copyOf(objects.get(key))
    }
    return this.#pinned(async () => {
      const looking = isNew ? undefined : this.look()
      const reading = this.#nearest ? this.#nearest.object(key, this.#mirror, looking) : this.#rows.object(key)
      const [row] = await Promise.all([reading, looking])
      return objects.has(key) ? copyOf(objects.get(key)) : row
    })
  }

  /** How many objects were read from rows, and by which way. */
  readCounts(): readonly ReadCount[] {
    return this.#nearest?.counts() ?? []
  }

  /** See `Engine`. */
  async inOneState<Result extends { readonly position: Position }>(
    subject: Subject,
    read: (view: View) => Promise<Result>,
  ): Promise<Result> {
    const mirror = this.#mirror
    const look = async () => {
      await this.look()
      if (this.#mirror !== mirror) throw new EngineBusy('the log began again')
    }
    return this.#pinned(pin => readOneState({ mirror, pin, rows: this.#rows, look }, subject, read))
  }

  /** The buckets with indexes that are not fully built, and the dropped indexes whose entries are still to be removed. */
  async unfinishedIndexes(): Promise<{ readonly buckets: readonly Key[]; readonly dropped: readonly number[] }> {
    if (this.state.numbers === undefined) await this.look()
    if (this.state.numbers === undefined) return { buckets: [], dropped: [] }
    const buckets = await this.#pinned(pin => this.#unfinished.find({ pin, rows: this.#rows, look: () => this.look() }))
    return { buckets, dropped: this.state.numbers.dropped }
  }

  async buckets(): Promise<BucketChange[]> {
    return this.#pinned(async pin => {
      const found = new Map((await this.#rows.allBuckets()).map(({ bucket, version }) => [bucket, version]))
      await this.look()
      for (const { effects } of pin.recordsSince()) {
        for (const [bucket, version] of effects.buckets) found.set(bucket, version)
      }
      return Array.from(found, ([bucket, version]) => ({ bucket, version }))
    })
  }

  async recall(name: string): Promise<Buffer | undefined> {
    return this.#pinned(async () => {
      const [row] = await Promise.all([this.#rows.memory(name), this.look()])
      const { memory } = this.#mirror
      return memory.has(name) ? memory.get(name) : row
    })
  }

  /** Entries of the log as far as this server has followed it. */
  async changes(after: Position, limit: number): Promise<readonly LogEntry[]> {
    const known = this.#mirror.entriesAfter(after)
    if (known !== undefined) return known.slice(0, limit)
    const { slot: lastSlot, state } = this.#mirror
    const entries = await this.#log.changes(after, limit, { firstPart: state.firstPart, lastSlot })
    // Part of the log may have been trimmed meanwhile: after this look, `state` shows it.
    await this.look()
    return entries.slice(0, limit)
  }

  // Committing. One of these at a time: they are called from one queue.

  /** See `Database`. `decide` may be called several times. */
  async transact(
    needs: Needs,
    nowMs: number,
    decide: (state: LockedState) => Promise<Changes | undefined>,
  ): Promise<void> {
    if (this.#isToFence) await this.fence(0)
    await this.#writer.room(this.#mirror)
    await this.#pinned(async pin => {
      const isAmongOthers = this.#turns.isAmongOthers(this.#options.nowMs())
      // A refused append would take longer than a look.
      const [found] = await Promise.all([
        fetchNeeds(this.#mirror, this.#rows, needs),
        isAmongOthers ? this.look() : undefined,
      ])
      for (;;) {
        await this.#turn()
        const { slot } = this.#mirror
        const parts = { mirror: this.#mirror, pin, rows: this.#rows, found, nowMs }
        const changes = await decide(stateAtEnd({ ...parts, ...this.#decisionReads }))
        if (changes !== undefined) {
          const isAppended = await this.#append(this.#draw(slot, draftOf(changes)))
          if (isAppended === undefined) throw new EngineLost('its slot in the log was deleted meanwhile', true)
          if (isAppended) return
        } else {
          // Nothing is appended, so no refusal can show that this state is not the latest.
          await this.look()
          if (this.#mirror.slot === slot) return
        }
      }
    })
  }

  /** Whether the last append was made, after its answer was lost. Undefined: its slot was deleted meanwhile, or is long past. */
  async isCommitted(): Promise<boolean | undefined> {
    const record = this.#lost
    return record && this.#settle(record, await this.#log.append(record))
  }

  /** Removes all entries of a dropped index. */
  async clearIndex(index: number): Promise<void> {
    await this.#change(() => ({ effects: { ...NO_EFFECTS, cleared: new Set([index]) } }))
  }

  async remember(name: string, value: Buffer): Promise<void> {
    await this.#change(() => ({ effects: { ...NO_EFFECTS, memory: new Map([[name, value]]) } }))
  }

  async trim(upTo: Position): Promise<void> {
    await this.look()
    await this.#change(({ position, trimmedTo }) =>
      Math.min(upTo, position) > trimmedTo ? { state: { trimmedTo: Math.min(upTo, position) } } : undefined,
    )
    const { trimmedTo } = this.state
    const { slot } = this.#mirror
    // `applied` as the last record has it: a server that opens the store begins to read there.
    const { applied } = this.state
    const first = Math.max(this.state.firstPart, this.#firstPart)
    const needed = await this.#log.partBefore(
      trimmedTo,
      first,
      Math.min(this.#log.partOf(slot), this.#log.partOf(applied)),
    )
    for (let part = first; part < needed; part++) await this.#log.dropPart(part)
    this.#firstPart = Math.max(first, needed)
  }

  /** Puts the keys of late records into the log again, unless another server has. */
  async repeatLate(): Promise<void> {
    await this.#change(({ position }) => {
      const commits = this.#late.flatMap(record => record.commits)
      const again = this.#late.map(({ slot }) => slot)
      return commits.length === 0 ? undefined : { commits, state: { position: position + commits.length, again } }
    })
  }

  /** Positions go on from the time of day. An append that another server had begun is finished by now, or never will be. */
  async fence(waitMsMax: number = this.#options.waitMsMax): Promise<void> {
    this.#isToFence = false
    await this.#change(({ position, trimmedTo }) => {
      const next = Math.max(position, positionAtTime(Date.now()))
      // An empty log begins at this position.
      return { state: { position: next, trimmedTo: trimmedTo === position ? next : trimmedTo } }
    }, waitMsMax)
  }

  async forget(table: 'clients' | 'operations', hasExpired: (record: string) => boolean): Promise<void> {
    await this.look()
    const { stamp } = this.state
    const recent = this.#mirror[table]
    for await (const { id, record } of this.#rows.allRecords(table)) {
      if (hasExpired(record) && !recent.has(id)) await this.#rows.dropRecord(table, id, stamp)
    }
  }

  async count(table: 'clients' | 'operations'): Promise<{ readonly count: number; readonly bytes: number }> {
    let [count, bytes] = [0, 0]
    for await (const { id, record } of this.#rows.allRecords(table)) {
      count++
      bytes += id.length + record.length
    }
    return { count, bytes }
  }

  async close(): Promise<void> {
    await this.#writer.close(this.#options.waitMsMax)
  }

  async #look(): Promise<void> {
    let end: { readonly slot: number; readonly atMs: number } | undefined
    for (;;) {
      const atMs = this.#options.nowMs()
      const { records, isEnd, reaches } = await this.#log.read(this.#mirror.slot).catch(error => this.#overslept(error))
      for (const record of records) this.#absorb(record)
      if (end === undefined && reaches !== undefined) end = { slot: reaches, atMs }
      if (!isEnd && !(end && this.#mirror.slot >= end.slot)) continue
      this.#lookedMs = Math.max(this.#lookedMs, isEnd ? atMs : end!.atMs)
      return
    }
  }

  /** The next records were deleted while this server slept: it begins at the log's end, as when opened. Its reads start over. */
  async #overslept(error: unknown): Promise<never> {
    const last = error instanceof SlotsGone ? await this.#log.last() : undefined
    if (last === undefined) throw error
    this.#mirror = new Mirror(last)
    this.#late = []
    throw new EngineBusy('the log went on while this server slept, and its next records were deleted')
  }

  #absorb(record: LogRecord): void {
    // A client may have read without this record at a time when, by its stamp, it was there.
    const isLate = record.commits.length > 0 && this.#lookedMs > record.state.timeMs + LATE_MS
    if (!this.#mirror.absorb(record)) return
    this.#turns.meet(record.state.append, this.#options.nowMs())
    if (isLate) this.#late.push(record)
    if (record.state.again.length > 0) {
      this.#late = this.#late.filter(({ slot }) => !record.state.again.includes(slot))
    }
    this.#options.onRecord(record.state)
    const [oldest] = this.#mirror.unapplied()
    if (oldest !== undefined && record.slot - oldest.slot > PATIENCE_SLOTS) this.#write(oldest)
  }

  /** Appends a record that `make` derives from the latest state. Retries until it is known to be appended, or for `waitMsMax`. */
  async #change(
    make: (state: LogState) => Draft | undefined,
    waitMsMax: number = this.#options.waitMsMax,
  ): Promise<void> {
    const deadlineMs = performance.now() + waitMsMax
    for (;;) {
      const draft = make(this.state)
      if (draft === undefined) return
      const record = this.#draw(this.#mirror.slot, draft)
      for (;;) {
        try {
          if (await this.#append(record)) return
          break
        } catch (error) {
          if (!(error instanceof EngineLost) || performance.now() > deadlineMs) throw error
          await delay(PAUSE_MS * (1 + Math.random()))
        }
      }
    }
  }

  /** The record that follows a slot. */
  #draw(after: number, { state = {}, commits = [], effects = NO_EFFECTS }: Draft): LogRecord {
    const before = this.state
    const position = state.position ?? before.position
    const next: LogState = {
      ...before,
      position,
      stamp: Math.max(before.stamp + 1, position),
      timeMs: Math.max(before.timeMs, this.#options.nowMs()),
      firstPart: Math.max(before.firstPart, this.#firstPart),
      applied: this.#mirror.applied,
      done: this.#mirror.unreported(),
      again: [],
      append: this.#turns.note,
      ...state,
    }
    const record = { slot: after + 1, id: randomUUID(), state: next, commits, effects }
    if (bytesOf(record) > this.#options.recordBytesMax) throw new RecordTooLarge(bytesOf(record))
    return record
  }

  /** False: the mirror has another record in its slot. Undefined: which has it is no longer known. EngineLost: not known yet. */
  async #append(record: LogRecord): Promise<boolean | undefined> {
    this.#lost = record
    const startMs = performance.now()
    try {
      const reached = await this.#log.append(record)
      if (reached === undefined) this.#turns.took(performance.now() - startMs)
      return await this.#settle(record, reached)
    } catch (error) {
      if (error instanceof EngineLost) this.distrust()
      throw error
    }
  }

  async #settle(record: LogRecord, reached: number | undefined): Promise<boolean | undefined> {
    if (reached === undefined) {
      // A look that ran meanwhile may have absorbed it already.
      this.#absorb(record)
    } else if (reached < record.slot) {
      await this.#startOver()
      throw new EngineBusy('the log has lost records that it had')
    } else {
      await this.#lookUpTo(record.slot)
    }
    const id = reached === undefined ? record.id : this.#mirror.idAt(record.slot)
    if (id !== record.id) {
      this.#turns.lose()
      return id === undefined ? undefined : false
    }
    this.#mirror.wasReported(record.state.done)
    this.#write(record)
    return true
  }

  /** Follows the log to a taken slot. If it ends before, the slot was deleted while this server slept, whatever clocks say. */
  async #lookUpTo(slot: number): Promise<void> {
    try {
      await this.look()
      if (this.#mirror.slot < slot) await this.#overslept(new SlotsGone(this.#mirror.slot))
    } catch (error) {
      // This server began again at the log's end, so it does not know that slot.
      if (!(error instanceof EngineBusy)) throw error
    }
  }

  /** Records that this server has seen are gone: it begins another log. */
  async #startOver(): Promise<void> {
    const last = await this.#log.last()
    if (last === undefined) throw storeDamaged('the log is gone')
    const { stamp, timeMs, position } = this.state
    this.#mirror = new Mirror(last)
    this.#late = []
    await this.#look()
    const state = { ...anotherLog(position), timeMs: Math.max(timeMs, this.state.timeMs) }
    await this.#log.append(
      this.#draw(this.#mirror.slot, { state: { ...state, stamp: Math.max(stamp + 1, state.position) } }),
    )
    await this.#look()
    for (const record of this.#mirror.unapplied()) this.#write(record)
  }

  /** Begins another log, if this one was restored while no server was following it. */
  async #beginIfPutBack({ recalled, identity }: LogDatabaseOptions): Promise<void> {
    const noted = identity && (await this.recall(IDENTITY))?.toString()
    const isSame = identity === undefined || noted === undefined || identity.isSame(noted)
    const before = this.state.log
    await this.#change(state => {
      const isPutBack = recalled !== undefined && isLost(state, recalled)
      // Of several servers that notice, the first begins the new log.
      if (!isPutBack && (isSame || state.log !== before)) return undefined
      return { state: anotherLog(Math.max(state.position, recalled?.position ?? 0)) }
    })
    const now = identity?.toNote(noted)
    if (now !== undefined && now !== noted) await this.remember(IDENTITY, Buffer.from(now))
  }

  #write(record: LogRecord): void {
    this.#writer.write(record, this.#mirror)
  }

  /** After waiting for other servers, this one looks at what they have appended. */
  async #turn(): Promise<void> {
    const waitMs = this.#turns.waitMs(this.#options.nowMs())
    if (waitMs === 0) return
    await delay(waitMs)
    await this.look()
  }

  async #pinned<Result>(read: (pin: Pin) => Promise<Result>): Promise<Result> {
    const pin = this.#mirror.pin()
    try {
      return await read(pin)
    } finally {
      pin.release()
    }
  }

  async #changedAfter(after: Position, limit: number): Promise<ChangedBefore> {
    const entries = await this.changes(after, limit + 1)
    // There are more than `limit`, so the last ones are missing: report that nothing is known.
    return entries.length > limit ? { after: this.state.position, entries: [] } : { after: 0, entries }
  }
}
