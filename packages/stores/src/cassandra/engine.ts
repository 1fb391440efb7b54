/**
 * How a store in Cassandra commits and reads. The log is the truth (`change-log.ts`): a commit is made when its record is appended, and
 * by then everybody can see it, since whoever reads looks at the end of the log as well. The rows are written afterwards, by whoever
 * has appended; if that server did not live to do it, by whoever finds that it was not done.
 *
 * A commit is decided by the state before it, read from rows and from the mirror, and appended to the slot after that state. If the slot
 * is taken, the state was not the latest: the records that came between are put over it, and the commit is decided again.
 *
 * An append whose answer is lost is made again, in the same slot, as the same record. Then it is appended once: either now, or before, which is
 * seen by its id; or another record has the slot, and it never will be.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type BucketChange,
  type Key,
  type LogEntry,
  type Position,
  positionAtTime,
  type Snapshot,
  type StoredValue,
} from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { readForeign, readWindow, spellForeign, spellWindow } from '../sql/operation-records.js'
import type { ChangedBefore } from '../sql/sql-batch.js'
import { type Changes, EngineBusy, EngineLost, type LockedState, type Needs } from '../sql/sql-engine.js'
import { storeDamaged, storeUnavailable } from '../sql/sql-errors.js'
import { type ChangeLog, partOf } from './change-log.js'
import { bytesOf, type Effects, type LogRecord, type LogState, NO_EFFECTS } from './log-record.js'
import { Mirror, type Pin, type Recent } from './mirror.js'
import type { Rows } from './rows.js'
import { Turns } from './turns.js'

export interface EngineOptions {
  readonly place: string
  readonly changeLog: ChangeLog
  readonly rows: Rows
  readonly waitMsMax: number
  readonly recordBytesMax: number
  readonly nowMs: () => number
  /** A record was met, of this server or another. */
  readonly onRecord: (state: LogState) => void
}

/** Another server has so many slots' time to write its rows. */
const PATIENCE_SLOTS = 64
const UNAPPLIED_BYTES_MAX = 64 * 1024 * 1024
const PAUSE_MS = 20
const PAUSE_MS_MAX = 1000
/** Longer than this from its stamp until it could be seen, and the keys of a record are told again. */
const LATE_MS = 1000

/** What a record is to change, beside what follows from that. */
interface Draft {
  readonly state?: Partial<LogState>
  readonly commits?: LogRecord['commits']
  readonly effects?: Effects
}

export class Engine {
  readonly place: string
  readonly #options: EngineOptions
  readonly #log: ChangeLog
  readonly #rows: Rows
  readonly #turns = new Turns()
  #mirror: Mirror
  #looking: Promise<void> | undefined
  /** When the log was last looked at without finding anything, by the store's clock. */
  #lookedMs = Number.NEGATIVE_INFINITY
  #firstPart = 0
  #late: LogRecord[] = []
  /** The append that nobody knows the outcome of. */
  #lost: LogRecord | undefined
  #isToFence = true
  readonly #applying = new Map<number, Promise<void>>()
  #isClosed = false

  private constructor(options: EngineOptions, last: LogRecord) {
    this.#options = options
    this.place = options.place
    this.#log = options.changeLog
    this.#rows = options.rows
    this.#mirror = new Mirror(last)
  }

  /** Makes the log if there is none. */
  static async open(options: EngineOptions): Promise<Engine> {
    const { changeLog } = options
    let last = await changeLog.last()
    if (last === undefined) {
      // Whoever is first makes it.
      await changeLog.append(firstRecord())
      last = await changeLog.last()
    }
    if (last === undefined) throw storeDamaged('there is no log, and none can be begun')
    const engine = new Engine(options, last)
    await engine.#look()
    await engine.fence()
    for (const record of engine.#mirror.unapplied()) engine.#apply(record)
    return engine
  }

  get state(): LogState {
    return this.#mirror.state
  }

  /** Whether keys are to be told again. */
  get isLate(): boolean {
    return this.#late.length > 0
  }

  /** What could be lost may have been: positions go on from the time of day before anything else is committed. */
  distrust(): void {
    this.#isToFence = true
  }

  // Reading.

  /** To the log's end, as it is now or later. Those who ask in the same turn share one look. */
  look(): Promise<void> {
    this.#looking ??= Promise.resolve().then(() => {
      this.#looking = undefined
      return this.#look()
    })
    return this.#looking
  }

  async object(key: Key): Promise<StoredValue | undefined> {
    const { objects } = this.#mirror
    if (objects.has(key)) {
      await this.look()
      if (objects.has(key)) return owned(objects.get(key))
    }
    return this.#pinned(async () => {
      const [row] = await Promise.all([this.#rows.object(key), this.look()])
      return objects.has(key) ? owned(objects.get(key)) : row
    })
  }

  async objects(keys: readonly Key[]): Promise<Snapshot<(StoredValue | undefined)[]>> {
    return this.#pinned(async () => {
      const rows = await this.#rows.objects(new Set(keys))
      // Afterwards: whatever the rows had, and more, is in the log by now.
      await this.look()
      const { objects } = this.#mirror
      const value = keys.map(key => owned(objects.has(key) ? objects.get(key) : rows.get(key)))
      return { value, position: this.state.position }
    })
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

  /** Reads rows, then looks at the log, and hands out what was appended since it began. */
  async pinned<Result>(read: (pin: Pin, rows: Rows) => Promise<Result>): Promise<Result> {
    return this.#pinned(pin => read(pin, this.#rows))
  }

  /** As far as this server has followed the log. */
  async changes(after: Position, limit: number): Promise<readonly LogEntry[]> {
    const known = this.#mirror.entriesAfter(after)
    if (known !== undefined) return known.slice(0, limit)
    const { slot: lastSlot, state } = this.#mirror
    return (await this.#log.changes(after, limit, { firstPart: state.firstPart, lastSlot })).slice(0, limit)
  }

  // Committing. One of these at a time: they are called from one queue.

  /** See `SqlEngine`. What `decide` comes to may be asked for several times. */
  async transact(
    needs: Needs,
    nowMs: number,
    decide: (state: LockedState) => Promise<Changes | undefined>,
  ): Promise<void> {
    if (this.#isToFence) await this.fence()
    await this.#room()
    await this.#pinned(async () => {
      const isAmongOthers = this.#turns.isAmongOthers(this.#options.nowMs())
      // To be refused would take longer than a look.
      const [found] = await Promise.all([this.#fetch(needs), isAmongOthers ? this.look() : undefined])
      for (;;) {
        await this.#turn()
        const { slot } = this.#mirror
        const changes = await decide(this.#stateOf(found, nowMs))
        if (changes !== undefined) {
          if (await this.#append(this.#draw(slot, draftOf(changes)))) return
        } else {
          // Nothing to append, so nobody would say that this state is not the latest.
          await this.look()
          if (this.#mirror.slot === slot) return
        }
      }
    })
  }

  /** What became of the append that was lost last. */
  async isCommitted(): Promise<boolean | undefined> {
    const record = this.#lost
    return record && this.#settle(record, await this.#log.append(record))
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
    const { slot, applied } = this.#mirror
    const first = Math.max(this.state.firstPart, this.#firstPart)
    const needed = await this.#log.partBefore(trimmedTo, first, Math.min(partOf(slot), partOf(applied)))
    for (let part = first; part < needed; part++) await this.#log.dropPart(part)
    this.#firstPart = Math.max(first, needed)
  }

  /** Tells the keys again that were seen late, unless somebody else has. */
  async tellAgain(): Promise<void> {
    await this.#change(({ position }) => {
      const commits = this.#late.flatMap(record => record.commits)
      const again = this.#late.map(({ slot }) => slot)
      return commits.length === 0 ? undefined : { commits, state: { position: position + commits.length, again } }
    })
  }

  /** Positions go on from the time of day; and what was being appended by others is finished, or never will be. */
  async fence(): Promise<void> {
    this.#isToFence = false
    await this.#change(({ position, trimmedTo }) => {
      const next = Math.max(position, positionAtTime(Date.now()))
      // An empty log begins at its position.
      return { state: { position: next, trimmedTo: trimmedTo === position ? next : trimmedTo } }
    })
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

  /** Rows need not be written by us; but if the engine is there, they soon are. */
  async close(): Promise<void> {
    const giveUp = delay(this.#options.waitMsMax, undefined, { ref: false })
    await Promise.race([Promise.all(this.#applying.values()), giveUp])
    this.#isClosed = true
  }

  async #look(): Promise<void> {
    for (;;) {
      const startedMs = this.#options.nowMs()
      const { records, isEnd } = await this.#log.read(this.#mirror.slot)
      for (const record of records) this.#absorb(record)
      if (!isEnd) continue
      this.#lookedMs = Math.max(this.#lookedMs, startedMs)
      return
    }
  }

  #absorb(record: LogRecord): void {
    // Somebody may have read without it, at a time when by its stamp it was there.
    const isLate = record.commits.length > 0 && this.#lookedMs > record.state.timeMs + LATE_MS
    if (!this.#mirror.absorb(record)) return
    this.#turns.meet(record.state.append, this.#options.nowMs())
    if (isLate) this.#late.push(record)
    if (record.state.again.length > 0) {
      this.#late = this.#late.filter(({ slot }) => !record.state.again.includes(slot))
    }
    this.#options.onRecord(record.state)
    const [oldest] = this.#mirror.unapplied()
    if (oldest !== undefined && record.slot - oldest.slot > PATIENCE_SLOTS) this.#apply(oldest)
  }

  /** A record of its own, made from the state that is then the latest; tried until it is known to be appended. */
  async #change(make: (state: LogState) => Draft | undefined): Promise<void> {
    const deadlineMs = performance.now() + this.#options.waitMsMax
    for (;;) {
      const draft = make(this.state)
      if (draft === undefined) return
      const record = this.#draw(this.#mirror.slot, draft)
      for (;;) {
        try {
          if (await this.#append(record)) return
          break
        } catch (error) {
          if (!(error instanceof EngineLost)) throw error
          if (performance.now() > deadlineMs) throw storeUnavailable(this.place, error, 'unknown')
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
      done: this.#mirror.untold(),
      again: [],
      append: this.#turns.note,
      ...state,
    }
    const record = { slot: after + 1, id: randomUUID(), state: next, commits, effects }
    if (bytesOf(record) > this.#options.recordBytesMax) throw new RecordTooLarge(bytesOf(record))
    return record
  }

  /** False: another record has its slot, and is in the mirror. Throws EngineLost if it is not known. */
  async #append(record: LogRecord): Promise<boolean> {
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

  async #settle(record: LogRecord, reached: number | undefined): Promise<boolean> {
    if (reached === undefined) {
      // Whoever looked meanwhile may have met it.
      this.#absorb(record)
    } else if (reached < record.slot) {
      await this.#startOver()
      throw new EngineBusy('the log has lost what it had')
    } else {
      await this.look()
    }
    if (this.#mirror.idAt(record.slot) !== record.id) {
      this.#turns.lose()
      return false
    }
    this.#mirror.wasTold(record.state.done)
    this.#apply(record)
    return true
  }

  /** What this server has seen is not there any more: it is another log. */
  async #startOver(): Promise<void> {
    const last = await this.#log.last()
    if (last === undefined) throw storeDamaged('the log is gone')
    const { stamp, timeMs, position } = this.state
    this.#mirror = new Mirror(last)
    this.#late = []
    await this.#look()
    const begin = Math.max(position, positionAtTime(Date.now()))
    const next = { log: randomUUID(), position: begin, trimmedTo: begin }
    const state = { ...next, stamp: Math.max(stamp + 1, begin), timeMs: Math.max(timeMs, this.state.timeMs) }
    await this.#log.append(this.#draw(this.#mirror.slot, { state }))
    await this.#look()
    for (const record of this.#mirror.unapplied()) this.#apply(record)
  }

  /** Until it is done: the engine may be away for a while. */
  #apply(record: LogRecord): void {
    const { slot } = record
    if (this.#applying.has(slot) || slot <= this.#mirror.applied) return
    const mirror = this.#mirror
    const work = async () => {
      for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(PAUSE_MS_MAX, 2 * pauseMs)) {
        try {
          await this.#rows.apply(record)
          mirror.applyDone(slot)
          return
        } catch (error) {
          if (!(error instanceof EngineLost) || this.#isClosed) return
          await delay(pauseMs, undefined, { ref: false })
        }
      }
    }
    this.#applying.set(
      slot,
      work().finally(() => this.#applying.delete(slot)),
    )
  }

  /** Who waited for others does not know what they have done. */
  async #turn(): Promise<void> {
    const waitMs = this.#turns.waitMs(this.#options.nowMs())
    if (waitMs === 0) return
    await delay(waitMs)
    await this.look()
  }

  /** Rows that are not written are in the memory of all servers. */
  async #room(): Promise<void> {
    while (this.#mirror.unappliedBytes > UNAPPLIED_BYTES_MAX) {
      for (const record of this.#mirror.unapplied()) this.#apply(record)
      await Promise.race(this.#applying.values())
    }
  }

  async #pinned<Result>(read: (pin: Pin) => Promise<Result>): Promise<Result> {
    const pin = this.#mirror.pin()
    try {
      return await read(pin)
    } finally {
      pin.release()
    }
  }

  /** What a commit needs to know, of a state that may be older than what has been pinned meanwhile is over. */
  async #fetch({ keys, buckets, clients, foreign }: Needs): Promise<Found> {
    const { objects, buckets: versions, clients: windows, operations } = this.#mirror
    const [a, b, c, d] = await Promise.all([
      fetchMissing(objects, keys, missing => this.#rows.objects(missing)),
      fetchMissing(versions, buckets, missing => this.#rows.buckets(missing)),
      fetchMissing(windows, clients, missing => this.#rows.records('clients', missing)),
      fetchMissing(operations, foreign, missing => this.#rows.records('operations', missing)),
    ])
    return { objects: a, buckets: b, clients: c, operations: d }
  }

  /** What was found, and over it what the log has beyond. */
  #stateOf(found: Found, nowMs: number): LockedState {
    const { state, objects, buckets, clients, operations } = this.#mirror
    const timeMs = Math.max(state.timeMs, nowMs)
    return {
      head: { position: state.position, timeMs, trimmedTo: state.trimmedTo, numbers: { last: 0, dropped: [] } },
      values: present(found.objects, objects, value => value),
      buckets: present(found.buckets, buckets, version => version),
      windows: present(found.clients, clients, readWindow),
      foreign: present(found.operations, operations, readForeign),
      indexes: new Map(),
      tags: new Map(),
      changedAfter: (after, limit) => this.#changedAfter(after, limit),
      more: noIndexes,
      page: noIndexes,
      count: noIndexes,
    }
  }

  async #changedAfter(after: Position, limit: number): Promise<ChangedBefore> {
    const entries = await this.changes(after, limit + 1)
    // So many that the last are not among them: then nothing is known.
    return entries.length > limit ? { after: this.state.position, entries: [] } : { after: 0, entries }
  }
}

/** What is recent, or else what the tables have; and that is recent from then on. */
async function fetchMissing<Value>(
  recent: Recent<Value | undefined>,
  all: Iterable<string>,
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): Promise<Map<string, Value | undefined>> {
  const keys = [...all]
  const found = new Map(keys.filter(key => recent.has(key)).map(key => [key, recent.get(key)]))
  const missing = keys.filter(key => !found.has(key))
  const rows = missing.length === 0 ? new Map<string, Value>() : await read(missing)
  for (const key of missing) {
    found.set(key, rows.get(key))
    recent.learn(key, rows.get(key), sizeOf(rows.get(key)))
  }
  return found
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' && value !== null && 'body' in value ? (value.body as Uint8Array).length : 0
}

interface Found {
  readonly objects: Map<Key, StoredValue | undefined>
  readonly buckets: Map<Key, Position | undefined>
  readonly clients: Map<string, string | undefined>
  readonly operations: Map<string, string | undefined>
}

/** More than a record may hold. */
export class RecordTooLarge extends Error {
  override readonly name = 'RecordTooLarge'

  constructor(bytes: number) {
    super(`A record of the log would have ${bytes} bytes.`)
  }
}

function draftOf({ position, values, buckets, log, windows, foreign }: Changes): Draft {
  return {
    state: { position },
    commits: log?.commits ?? [],
    effects: {
      objects: values,
      buckets,
      clients: new Map(Array.from(windows, ([client, window]) => [client, spellWindow(window)])),
      operations: new Map(Array.from(foreign, ([id, operation]) => [id, spellForeign(operation)])),
      memory: new Map(),
    },
  }
}

function firstRecord(): LogRecord {
  const position = positionAtTime(Date.now())
  const state: LogState = {
    log: randomUUID(),
    position,
    stamp: position,
    timeMs: 0,
    trimmedTo: position,
    firstPart: 0,
    applied: 0,
    done: [],
    again: [],
    append: new Turns().note,
  }
  return { slot: 0, id: randomUUID(), state, commits: [], effects: NO_EFFECTS }
}

/** Those that are there; what is recent goes over what was found. */
function present<Kept, Value>(
  found: ReadonlyMap<string, Kept | undefined>,
  recent: { has(key: string): boolean; get(key: string): Kept | undefined },
  read: (kept: Kept) => Value,
): Map<string, Value> {
  const values = new Map<string, Value>()
  for (const [key, value] of found) {
    const latest = recent.has(key) ? recent.get(key) : value
    if (latest !== undefined) values.set(key, read(latest))
  }
  return values
}

/** The reader owns the bytes. */
function owned(value: StoredValue | undefined): StoredValue | undefined {
  return value && { ...value, body: Buffer.from(value.body) }
}

function noIndexes(): never {
  throw new FreshetError('LIMIT_EXCEEDED', 'A store in Cassandra has no indexes.')
}
