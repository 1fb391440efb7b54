/**
 * The rows of one node follow the log in its order: what is written names the slot that the rows were at, and says at which they are now,
 * in one commit. So the rows of a node are always those of one state, whoever writes them, and however often; one node answers a read alone;
 * and what is deleted is gone, without a tombstone.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Write } from '@freshet/core/store'
import { encodeValue } from '../../embedded/records.js'
import { bytesOf, type Effects, type LogRecord } from '../../logged/log-record.js'
import { SlotsGone } from '../../logged/parts.js'
import { APPLIED, type Applied, bucketKey, rowKey } from './node-keys.js'
import { jsonWrite, parse, type RingNode } from './ring-node.js'

const RECORDS_TOGETHER = 256
const BYTES_TOGETHER = 4 * 1024 * 1024
const PAUSE_MS = 10

export interface NodeRowsOptions {
  readonly node: RingNode
  /** Some of the records after a slot. */
  recordsAfter(slot: number): Promise<readonly LogRecord[]>
  /** The rows have come further. */
  onApplied(): void
}

export class NodeRows {
  readonly node: RingNode
  /** The log has forgotten what follows them. */
  isTooOld = false
  readonly #options: NodeRowsOptions
  #at: { readonly slot: number; readonly version: number } | undefined
  #target = -1
  #running: Promise<void> | undefined

  constructor(options: NodeRowsOptions) {
    this.#options = options
    this.node = options.node
  }

  /** As far as this server knows. */
  get applied(): number {
    return this.#at?.slot ?? this.node.applied
  }

  get isBehind(): boolean {
    return this.applied < this.#target
  }

  /** Brings them up to a slot that is decided, in the background, if the node answers. */
  raise(target: number): void {
    this.#target = Math.max(this.#target, target)
    if (this.applied < this.#target) this.#running ??= this.#run()
  }

  /** It has been given other rows. */
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
        // What is appended meanwhile shares the next commit: nobody waits for rows.
        if (this.#at !== undefined) await delay(PAUSE_MS)
      }
    } catch (error) {
      this.#at = undefined
      this.isTooOld = error instanceof SlotsGone
      // Whoever waits for it is told after a while; the next to be applied, and the upkeep, begin it again.
    } finally {
      // In the same step that has found nothing more to do: what is raised from now on begins anew.
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
    const writes = [...rowsOf(records).values(), jsonWrite(APPLIED, { slot: last.slot } satisfies Applied)]
    const position = await this.node.commit({ reads: [{ key: APPLIED, version }], writes })
    // Another server was first.
    this.#at = position === undefined ? undefined : { slot: last.slot, version: position }
    this.node.applied = Math.max(this.node.applied, position === undefined ? slot : last.slot)
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

/** What the rows are to be after these; of each key the last. */
function rowsOf(records: readonly LogRecord[]): Map<string, Write> {
  const writes = new Map<string, Write>()
  for (const { state, effects } of records) {
    for (const write of rowWrites(effects, state.stamp)) writes.set(write.key, write)
  }
  return writes
}

function* rowWrites({ objects, buckets, clients, operations, memory }: Effects, stamp: number): Generator<Write> {
  for (const [key, value] of objects) {
    yield value === undefined ? { key, delete: true } : bytesWrite(key, encodeValue(value.version, value))
  }
  for (const [bucket, position] of buckets) yield jsonWrite(bucketKey(bucket), position)
  for (const [id, text] of clients) yield jsonWrite(rowKey('clients', id), [id, text, stamp])
  for (const [id, text] of operations) yield jsonWrite(rowKey('operations', id), [id, text, stamp])
  for (const [name, value] of memory) yield bytesWrite(rowKey('memory', name), value)
}

function bytesWrite(key: string, body: Uint8Array): Write {
  return { key, contentType: 'application/octet-stream', body }
}
