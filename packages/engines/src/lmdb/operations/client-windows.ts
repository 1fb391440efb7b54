/**
 * The windows of our clients: in memory as they are now, and on disk as they were at the last checkpoint, with a journal of
 * what was done since. A record for each client that did something would cost more than what it did.
 *
 *     clients   client, ASCII            its window: number: settledTo | double: lastMs | number: how many are done, and each:
 *                                        number: sequence | the result
 *     journal   8: number, big-endian    what one transaction did: double: timeMs | number: position | then, until the end, each:
 *                                        text: client, or empty if the same as before | signed: sequence, less the one before,
 *                                        which is 0 at first and for another client | number: how far settledTo is behind |
 *                                        the result
 *
 * (`byte-records.ts`, `done-records.ts`)
 *
 * Invariant: all windows that have changed since the checkpoint are in memory. So the journal is read only to restore them,
 * when the store is opened, and after a transaction that was decided and then refused.
 */
import { type ClientWindow, emptyWindow, hasExpired, type RetentionOptions, rememberOwn } from '@freshet/core/counters'
import type { DoneOperation, Position } from '@freshet/core/store'
import type { OwnOperationId } from '@freshet/protocol'
import type { Table } from '../environment.js'
import { ByteReader, ByteWriter } from './byte-records.js'
import { readDone, writeDone } from './done-records.js'

export interface ClientRecords {
  readonly clients: Table<string>
  readonly journal: Table<number>
}

/** A checkpoint is due when the journal has this much for each changed window, or this much in all. */
const JOURNAL_BYTES_PER_WINDOW = 360
const JOURNAL_BYTES_MAX = 64 * 1024
const JOURNAL_BYTES_MIN = 8 * 1024
/** How many unchanged windows are kept in memory, so that they need not be read again. */
const KNOWN_MAX = 10_000
/** The memory that a window needs, and each operation in it. */
const WINDOW_BYTES = 200
const DONE_BYTES = 110

export class ClientWindows {
  readonly #records: ClientRecords
  readonly #known = new Map<string, ClientWindow>()
  /** Windows whose record on disk is missing or older; the journal has the rest. */
  readonly #changed = new Map<string, ClientWindow>()
  /** The first and last number in the journal, and its bytes. */
  #first = 1
  #last = 0
  #bytes = 0
  #new = 0
  /** For the transaction that is being decided. */
  readonly #writer = new ByteWriter()
  #from: Position = 0
  /** The last client and sequence in it. */
  #client = ''
  #sequence = 0
  #hasChanges = false

  constructor(records: ClientRecords) {
    this.#records = records
    this.#readJournal()
  }

  /** Call before a transaction is decided. */
  begin(from: Position, nowMs: number): void {
    if (this.#known.size - this.#changed.size > KNOWN_MAX) this.#forgetUnchanged()
    this.#from = from
    this.#hasChanges = false
    this.#writer.clear()
    this.#writer.double(nowMs)
    this.#writer.number(from)
    this.#client = ''
    this.#sequence = 0
  }

  get(client: string): ClientWindow | undefined {
    const known = this.#known.get(client)
    if (known !== undefined) return known
    const window = readWindow(this.#records, client)
    if (window !== undefined) this.#known.set(client, window)
    return window
  }

  /** This operation was done; the window is new, or has changed. */
  set({ client, sequence, settledTo }: OwnOperationId, window: ClientWindow, done: DoneOperation): void {
    this.#change(client, window)
    this.#hasChanges = true
    // Operations of one client mostly come together: this keeps a transaction with a batch of them from needing a page of its
    // own.
    const isSame = client === this.#client
    this.#writer.text(isSame ? '' : client)
    this.#writer.signed(isSame ? sequence - this.#sequence : sequence)
    this.#writer.number(sequence - settledTo)
    writeDone(this.#writer, done, this.#from)
    this.#client = client
    this.#sequence = sequence
  }

  get hasChanges(): boolean {
    return this.#hasChanges
  }

  /** How many windows are on disk only in the journal. */
  get newCount(): number {
    return this.#new
  }

  get memoryBytes(): number {
    let done = 0
    for (const window of this.#known.values()) done += window.done.size
    return WINDOW_BYTES * this.#known.size + DONE_BYTES * done
  }

  /** Call within the transaction. */
  apply(): void {
    if (!this.#hasChanges) return
    this.#bytes += this.#writer.length
    if (this.#bytes > this.#bytesMax()) this.#checkpoint()
    else this.#records.journal.put(++this.#last, this.#writer.bytes())
  }

  #bytesMax(): number {
    const forWindows = JOURNAL_BYTES_PER_WINDOW * this.#changed.size
    return Math.min(JOURNAL_BYTES_MAX, Math.max(JOURNAL_BYTES_MIN, forWindows))
  }

  #checkpoint(): void {
    const { clients, journal } = this.#records
    for (const [client, window] of this.#changed) clients.put(client, this.#encode(window))
    for (let number = this.#first; number <= this.#last; number++) journal.remove(number)
    this.#changed.clear()
    this.#first = this.#last + 1
    this.#bytes = 0
    this.#new = 0
  }

  /** Drops windows from memory that are on disk. */
  #forgetUnchanged(): void {
    this.#known.clear()
    for (const [client, window] of this.#changed) this.#known.set(client, window)
  }

  /** Examines at most `limit` windows after `after`; returns which have expired, and the last that was examined. */
  expired(after: string | undefined, limit: number, nowMs: number, retention: RetentionOptions): ExpiredClients {
    const range = { start: after ?? '', exclusiveStart: after !== undefined, limit }
    const expired: string[] = []
    let count = 0
    let last: string | undefined
    for (const { key, value } of this.#records.clients.getRange(range)) {
      count++
      last = key
      if (hasExpired(this.#known.get(key) ?? decodeWindow(value), nowMs, retention)) expired.push(key)
    }
    return { expired, last, isEnd: count < limit }
  }

  /** Call within a transaction. */
  forget(clients: readonly string[]): void {
    for (const client of clients) {
      // This client is active again; besides, the journal would restore it.
      if (this.#changed.has(client)) continue
      this.#known.delete(client)
      this.#records.clients.remove(client)
    }
  }

  /** The decided transaction was not carried out. */
  reload(): void {
    this.#known.clear()
    this.#changed.clear()
    this.#readJournal()
  }

  #encode({ settledTo, lastMs, done }: ClientWindow): Uint8Array {
    const writer = this.#writer
    const start = writer.length
    writer.number(settledTo)
    writer.double(lastMs)
    writer.number(done.size)
    for (const [sequence, operation] of done) {
      writer.number(sequence)
      writeDone(writer, operation, 0)
    }
    return writer.bytes(start)
  }

  #redo(reader: ByteReader): void {
    const timeMs = reader.double()
    const from = reader.number()
    let client = ''
    let sequence = 0
    while (!reader.isAtEnd) {
      const another = reader.text()
      sequence = reader.signed() + (another === '' ? sequence : 0)
      if (another !== '') client = another
      const settledTo = sequence - reader.number()
      const window = this.get(client) ?? emptyWindow()
      rememberOwn(window, { sequence, settledTo }, readDone(reader, from), timeMs)
      this.#change(client, window)
    }
  }

  #change(client: string, window: ClientWindow): void {
    if (!this.#known.has(client)) {
      this.#new++
      this.#known.set(client, window)
    }
    this.#changed.set(client, window)
  }

  #readJournal(): void {
    this.#first = 0
    this.#new = 0
    this.#bytes = 0
    for (const { key, value } of this.#records.journal.getRange({ start: 0 })) {
      this.#first ||= key
      this.#last = key
      this.#bytes += value.length
      this.#redo(new ByteReader(value))
    }
    if (this.#first === 0) this.#first = this.#last + 1
  }
}

export interface ExpiredClients {
  readonly expired: readonly string[]
  readonly last: string | undefined
  readonly isEnd: boolean
}

function readWindow({ clients }: ClientRecords, client: string): ClientWindow | undefined {
  const record = clients.get(client)
  return record && decodeWindow(record)
}

function decodeWindow(record: Buffer): ClientWindow {
  const reader = new ByteReader(record)
  const window = { ...emptyWindow(), settledTo: reader.number(), lastMs: reader.double() }
  for (let left = reader.number(); left > 0; left--) window.done.add(reader.number(), readDone(reader, 0))
  return window
}
