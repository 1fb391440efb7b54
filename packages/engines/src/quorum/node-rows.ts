/**
 * The rows of one node follow the log in its order: each commit of rows names the slot that they were at, and sets the slot
 * that they are at now. So the rows of a node are always those of one state, whichever servers write them, and however often;
 * one node alone can answer a read; and deleted rows are gone, without a tombstone.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Write } from '@freshet/core/store'
import { entriesUnder, indexNumberOf, indexPrefix } from '@freshet/store/indexes'
import { encodeValue } from '@freshet/store/records'
import { bytesOf, type Effects, type LogRecord, readEntry } from '../log/log-record.js'
import { SlotsGone } from '../log/log-storage.js'
import { ENTRIES, entryWrite, idsOf } from './entry-keys.js'
import { APPLIED, type Applied, bucketKey, indexesKey, rowKey } from './node-keys.js'
import { jsonWrite, parse, type QuorumNode } from './quorum-node.js'

const RECORDS_TOGETHER = 256
const BYTES_TOGETHER = 4 * 1024 * 1024
const PAUSE_MS = 10
const CLEARED_TOGETHER = 500

export interface NodeRowsOptions {
  readonly node: QuorumNode
  /** Some of the records after a slot. */
  recordsAfter(slot: number): Promise<readonly LogRecord[]>
  /** Called when the rows have advanced. */
  onApplied(): void
}

export class NodeRows {
  readonly node: QuorumNode
  /** The log has forgotten the records that follow these rows. */
  isTooOld = false
  readonly #options: NodeRowsOptions
  #at: { readonly slot: number; readonly version: number } | undefined
  #target = -1
  #running: Promise<void> | undefined

  constructor(options: NodeRowsOptions) {
    this.#options = options
    this.node = options.node
  }

  /** The slot of the rows, as far as this server knows. */
  get applied(): number {
    return this.#at?.slot ?? this.node.applied
  }

  get isBehind(): boolean {
    return this.applied < this.#target
  }

  /** Brings the rows up to a decided slot, in the background, if the node answers. */
  raise(target: number): void {
    this.#target = Math.max(this.#target, target)
    if (this.applied < this.#target) this.#running ??= this.#run()
  }

  /** The node has been given other rows. */
  forget(): void {
    this.#at = undefined
    this.isTooOld = false
  }

  async idle(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    try {
      while (this.applied < this.#target || this.#at === undefined) {
        this.#at ??= await this.#find()
        if (this.#at === undefined) return
        if (this.#at.slot < this.#target) await this.#apply(this.#at)
        this.#options.onApplied()
        // The records that are appended meanwhile share the next commit, as nothing waits for rows.
        if (this.#at !== undefined) await delay(PAUSE_MS)
      }
    } catch (error) {
      this.#at = undefined
      this.isTooOld = error instanceof SlotsGone
      // A caller that waits for these rows gets an error after a while. The next record, and the upkeep, begin the work again.
    } finally {
      // In the same step that found nothing more to do: a `raise` from now on begins again.
      this.#running = undefined
    }
  }

  async #find(): Promise<{ readonly slot: number; readonly version: number } | undefined> {
    const [applied] = await this.node.read([APPLIED])
    this.node.needsRows = applied === undefined
    return applied && { slot: (parse(applied) as Applied).slot, version: applied.version }
  }

  async #apply({ slot, version }: { readonly slot: number; readonly version: number }): Promise<void> {
    const records = together(await this.#options.recordsAfter(slot), this.#target)
    const last = records.at(-1)
    if (last === undefined) throw new Error(`Nothing follows slot ${slot}.`)
    const cleared = new Set(records.flatMap(({ effects }) => [...effects.cleared]))
    for (const index of cleared) await this.#clear(index, version)
    const writes = [...rowsOf(records, cleared).values(), jsonWrite(APPLIED, { slot: last.slot } satisfies Applied)]
    const position = await this.node.commit({ reads: [{ key: APPLIED, version }], writes })
    // Undefined: another server was first.
    this.#at = position === undefined ? undefined : { slot: last.slot, version: position }
    this.node.applied = Math.max(this.node.applied, position === undefined ? slot : last.slot)
  }

  /** Removes the entries of a dropped index. No query reads them, so some may be gone before others. */
  async #clear(index: number, version: number): Promise<void> {
    const { low, high } = idsOf({ ...entriesUnder(indexPrefix(index)), after: undefined, isDescending: false })
    for (;;) {
      const range = { from: low, to: high, limit: CLEARED_TOGETHER }
      const { entries } = await this.node.ask(store => store.scan(ENTRIES, range))
      const writes = entries.map(({ id }) => ({ key: `${ENTRIES}/${id}`, delete: true as const }))
      // If another server was first, this one goes on from the slot that it reached.
      if (entries.length > 0 && !(await this.node.commit({ reads: [{ key: APPLIED, version }], writes }))) return
      if (entries.length < CLEARED_TOGETHER) return
    }
  }
}

function together(records: readonly LogRecord[], target: number): readonly LogRecord[] {
  let [count, bytes] = [0, 0]
  while (count < records.length && count < RECORDS_TOGETHER && (count === 0 || bytes < BYTES_TOGETHER)) {
    if (records[count]!.slot > target) break
    bytes += bytesOf(records[count++]!)
  }
  return records.slice(0, count)
}

/** The rows after these records: of each key the last write. `cleared`: indexes that must have no entries. */
function rowsOf(records: readonly LogRecord[], cleared: ReadonlySet<number>): Map<string, Write> {
  const writes = new Map<string, Write>()
  for (const { state, effects } of records) {
    for (const write of rowWrites(effects, state.stamp)) writes.set(write.key, write)
    for (const [text, isThere] of effects.entries) {
      const entry = readEntry(text)
      const write = entryWrite(entry, isThere && !cleared.has(indexNumberOf(entry)))
      writes.set(write.key, write)
    }
  }
  return writes
}

function* rowWrites(effects: Effects, stamp: number): Generator<Write> {
  const { objects, buckets, clients, operations, memory, indexes, tags } = effects
  for (const [key, value] of objects) {
    yield value === undefined ? { key, delete: true } : bytesWrite(key, encodeValue(value.version, value))
  }
  for (const [bucket, position] of buckets) yield jsonWrite(bucketKey(bucket), position)
  for (const [id, text] of clients) yield jsonWrite(rowKey('clients', id), [id, text, stamp])
  for (const [id, text] of operations) yield jsonWrite(rowKey('operations', id), [id, text, stamp])
  for (const [name, value] of memory) yield bytesWrite(rowKey('memory', name), value)
  for (const [bucket, record] of indexes) yield bytesWrite(indexesKey(bucket), record)
  for (const [tag, position] of tags) yield jsonWrite(rowKey('tags', tag), position)
}

function bytesWrite(key: string, body: Uint8Array): Write {
  return { key, contentType: 'application/octet-stream', body }
}
