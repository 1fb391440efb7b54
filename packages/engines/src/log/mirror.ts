/**
 * What one server knows: how far the log goes, the records whose rows may not have been written yet, and what it has read lately.
 *
 * The state at the log's end is the rows with the records beyond `applied` over them. The rows of all records up to `applied`
 * have been written, so every read of rows from now on sees at least those. Of the later records, and of what was read, the
 * mirror keeps the newest value of each key: each absorbed record replaces older values. So the value here is the key's value
 * at the log's end, as far as this server has followed it.
 *
 * A reader that reads rows and looks at the log afterwards needs the records since it began: it pins them (`pin`).
 */
import type { LogEntry, Position, StoredValue, Version } from '@freshet/core/store'
import { KnownVersions } from './known-versions.js'
import { bytesOf, entriesOf, hasEffects, type LogRecord, type LogState } from './log-record.js'

const CACHE_BYTES_MAX = 16 * 1024 * 1024
const ENTRIES_MAX = 20_000
const IDS_MAX = 1000
/** Added to the size of each kept value, whatever it is. */
const BYTES_EACH = 64

export class Mirror {
  readonly objects: Recent<StoredValue | undefined> = new Recent()
  readonly buckets: Recent<Version | undefined> = new Recent()
  readonly clients: Recent<string | undefined> = new Recent()
  readonly operations: Recent<string | undefined> = new Recent()
  readonly memory: Recent<Buffer | undefined> = new Recent()
  readonly indexes: Recent<Buffer | undefined> = new Recent()
  readonly tags: Recent<Version | undefined> = new Recent()
  /** Of objects that the mirror no longer holds, or that were read from rows. */
  readonly versions: KnownVersions = new KnownVersions()
  #state: LogState
  #slot: number
  #applied: number
  readonly #done = new Set<number>()
  /** Slots that this server has applied, and no record reports yet. */
  readonly #unreported = new Set<number>()
  readonly #pins = new Map<symbol, number>()
  #records: LogRecord[] = []
  readonly #ids = new Map<number, string>()
  #entries: LogEntry[] = []
  /** The position that the entries follow. */
  #entriesAfter: Position

  /** The mirror begins with the last record, and knows none of the records between `applied` and that one. */
  constructor(last: LogRecord) {
    this.#slot = last.state.applied
    this.#applied = last.state.applied
    this.#state = last.state
    this.#entriesAfter = Number.POSITIVE_INFINITY
  }

  get state(): LogState {
    return this.#state
  }

  /** The last slot that it knows. */
  get slot(): number {
    return this.#slot
  }

  get applied(): number {
    return this.#applied
  }

  /** Records come in the order of the log; a known one is ignored. True: it was new. */
  absorb(record: LogRecord): boolean {
    if (record.slot <= this.#slot) return false
    if (record.slot !== this.#slot + 1) throw new Error(`Record ${record.slot} does not follow ${this.#slot}.`)
    const { slot, state, effects } = record
    this.#slot = slot
    this.#state = state
    this.#records.push(record)
    this.#ids.set(slot, record.id)
    this.#ids.delete(slot - IDS_MAX)
    for (const [key, value] of effects.objects) {
      this.objects.set(key, value, slot, value?.body.length)
      this.versions.learn(key, value, state.position)
    }
    for (const [bucket, position] of effects.buckets) this.buckets.set(bucket, position, slot)
    for (const [client, text] of effects.clients) this.clients.set(client, text, slot, text.length)
    for (const [id, text] of effects.operations) this.operations.set(id, text, slot, text.length)
    for (const [name, value] of effects.memory) this.memory.set(name, value, slot, value.length)
    for (const [bucket, record] of effects.indexes) this.indexes.set(bucket, record, slot, record.length)
    for (const [tag, version] of effects.tags) this.tags.set(tag, version, slot)
    this.#addEntries(record)
    if (!hasEffects(record)) this.#done.add(slot)
    for (const done of state.done) this.#done.add(done)
    this.#advance(state.applied)
    return true
  }

  /** This server has written the rows of a record. */
  applyDone(slot: number): void {
    this.#unreported.add(slot)
    this.#done.add(slot)
    this.#advance(this.#applied)
  }

  /** To be reported in the next record. Every server knows of them once that record is appended. */
  unreported(): readonly number[] {
    return [...this.#unreported]
  }

  wasReported(slots: readonly number[]): void {
    for (const slot of slots) this.#unreported.delete(slot)
  }

  /** Until it is released, the mirror keeps every record beyond what was applied when it was pinned. */
  pin(): Pin {
    const key = Symbol()
    const from = this.#applied
    this.#pins.set(key, from)
    return {
      slot: from,
      recordsSince: () => this.#records.filter(({ slot }) => slot > from),
      release: () => {
        this.#pins.delete(key)
        this.#forget()
      },
    }
  }

  /** The records whose rows may not have been written, the oldest first. */
  unapplied(): readonly LogRecord[] {
    return this.#records.filter(({ slot }) => slot > this.#applied && !this.#done.has(slot))
  }

  get unappliedBytes(): number {
    return this.#records.reduce((sum, record) => (record.slot > this.#applied ? sum + bytesOf(record) : sum), 0)
  }

  /** The id of a record; undefined if its slot is long past. */
  idAt(slot: number): string | undefined {
    return this.#ids.get(slot)
  }

  /** Undefined: some of these entries are no longer kept. */
  entriesAfter(position: Position): readonly LogEntry[] | undefined {
    if (position < this.#entriesAfter) return undefined
    const from = this.#entries.findIndex(entry => entry.position > position)
    return from === -1 ? [] : this.#entries.slice(from)
  }

  #addEntries(record: LogRecord): void {
    if (this.#entriesAfter === Number.POSITIVE_INFINITY) {
      this.#entriesAfter = record.state.position - record.commits.length
    }
    this.#entries.push(...entriesOf(record))
    if (this.#entries.length < 2 * ENTRIES_MAX) return
    const kept = this.#entries.slice(-ENTRIES_MAX)
    this.#entriesAfter = kept[0]!.position - 1
    this.#entries = kept
  }

  #advance(applied: number): void {
    this.#applied = Math.max(this.#applied, applied)
    while (this.#done.has(this.#applied + 1)) this.#applied++
    for (const slots of [this.#done, this.#unreported]) {
      for (const slot of slots) if (slot <= this.#applied) slots.delete(slot)
    }
    this.#forget()
  }

  get #recents(): readonly { forget(floor: number): void }[] {
    const { objects, buckets, clients, operations, memory, indexes, tags } = this
    return [objects, buckets, clients, operations, memory, indexes, tags]
  }

  #forget(): void {
    const floor = Math.min(this.#applied, ...this.#pins.values())
    const first = this.#records.findIndex(({ slot }) => slot > floor)
    if (first !== 0) this.#records = first === -1 ? [] : this.#records.slice(first)
    for (const recent of this.#recents) recent.forget(floor)
  }
}

export interface Pin {
  /** Every read of rows from now on sees at least everything up to this slot. */
  readonly slot: number
  /** The records appended since, and perhaps some older ones. */
  recordsSince(): readonly LogRecord[]
  release(): void
}

interface Kept<Value> {
  readonly value: Value
  /** The slot of the record that it is from; 0: it was read from rows. */
  readonly slot: number
  readonly bytes: number
}

/** The latest value of each key: as many as there is room for, and all that must be kept. */
export class Recent<Value> {
  readonly #kept = new Map<string, Kept<Value>>()
  #bytes = 0

  has(key: string): boolean {
    return this.#kept.has(key)
  }

  get(key: string): Value | undefined {
    return this.#kept.get(key)?.value
  }

  /** Whether the value is from a record after a slot, and was not read from rows. */
  isAfter(key: string, slot: number): boolean {
    const kept = this.#kept.get(key)
    return kept !== undefined && kept.slot > slot
  }

  set(key: string, value: Value, slot: number, size = 0): void {
    this.#drop(key)
    const bytes = key.length + size + BYTES_EACH
    this.#kept.set(key, { value, slot, bytes })
    this.#bytes += bytes
  }

  /** Keeps a value that was read from the tables, unless a value is here: that one is newer, or the same. */
  learn(key: string, value: Value, size = 0): void {
    if (!this.#kept.has(key)) this.set(key, value, 0, size)
  }

  /** Forgets the oldest values, but none from a record beyond the floor. */
  forget(floor: number): void {
    if (this.#bytes <= CACHE_BYTES_MAX) return
    for (const [key, { slot }] of this.#kept) {
      if (slot > floor || this.#bytes <= CACHE_BYTES_MAX / 2) return
      this.#drop(key)
    }
  }

  #drop(key: string): void {
    const kept = this.#kept.get(key)
    if (kept === undefined) return
    this.#kept.delete(key)
    this.#bytes -= kept.bytes
  }
}
