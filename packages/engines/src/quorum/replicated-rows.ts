/**
 * Rows over nodes. They count as applied when a majority of the nodes has them. Any one node can answer a read if its rows have
 * reached the slot that a majority is known to have; the node states its slot in the same state as the answer.
 */
import type { BucketChange, Key, Position, ScanRange, Store, StoredEntry, StoredValue } from '@freshet/core/store'
import { ID_FIELD } from '@freshet/protocol'
import type { Bound, EntriesRange, KeyedValue, KeyRange } from '@freshet/store/engine'
import { type LogRecord, readValue } from '../log/log-record.js'
import type { RecordTable, Rows } from '../log/log-storage.js'
import { ENTRIES, entryIn, idsOf, isCutId, isInRange } from './entry-keys.js'
import { APPLIED, type Applied, BUCKETS, bucketKey, INDEXES, indexesKey, rowKey } from './node-keys.js'
import { NodeRows } from './node-rows.js'
import { parse, type QuorumNode } from './quorum-node.js'
import type { ReplicatedLog } from './replicated-log.js'

const PAGE = 1000
const READ_TOGETHER = 500
/** After this time the caller gets an error, and retries. */
const APPLY_MS_MAX = 5000
/** For how long a node that was behind is asked only after the others. */
const BEHIND_MS = 50
const TRIES_MAX = 3

export interface ReplicatedRowsOptions {
  readonly nodes: readonly QuorumNode[]
  readonly log: ReplicatedLog
  /** The slot up to which a majority is known to have the rows. */
  floor(): number
}

export class ReplicatedRows implements Rows {
  readonly nodeRows: readonly NodeRows[]
  readonly #options: ReplicatedRowsOptions
  readonly #waiting = new Set<{ readonly slot: number; readonly done: () => void }>()
  readonly #behindUntilMs = new Map<QuorumNode, number>()

  constructor(options: ReplicatedRowsOptions) {
    const { nodes, log } = options
    this.#options = options
    const onApplied = () => this.#applied()
    this.nodeRows = nodes.map(node => new NodeRows({ node, recordsAfter: slot => log.recordsAfter(slot), onApplied }))
  }

  async object(key: Key): Promise<StoredValue | undefined> {
    const [found] = await this.#read([key])
    return found && readValue(key, Buffer.from(found.body))
  }

  async objects(keys: Iterable<Key>): Promise<Map<Key, StoredValue>> {
    return this.#readMany(
      [...keys],
      key => key,
      (key, { body }) => readValue(key, Buffer.from(body)),
    )
  }

  async page(bucket: Key, { low, high, isDescending, limit }: KeyRange): Promise<KeyedValue[]> {
    const folder = `${bucket}/`
    const idAt = ({ key, isIncluded }: Bound) => ({ id: key.slice(folder.length), isIncluded })
    // A bound above all keys of the bucket is not an id of the bucket.
    const end = high.key.startsWith(folder) ? idAt(high) : undefined
    const entries = await this.#inOrder(bucket, { low: idAt(low), high: end, isDescending, limit })
    return entries.map(({ id, body }) => {
      const key = `${folder}${id}`
      return { key, ...readValue(key, Buffer.from(body)) }
    })
  }

  async count(bucket: Key): Promise<number> {
    let count = 0
    for await (const _ of this.#scanAll(bucket)) count++
    return count
  }

  async indexes(buckets: Iterable<Key>): Promise<Map<Key, Buffer>> {
    return this.#readMany([...buckets], indexesKey, (_, { body }) => Buffer.from(body))
  }

  async allIndexes(): Promise<Map<Key, Buffer>> {
    const found = new Map<Key, Buffer>()
    for await (const { id, body } of this.#scanAll(INDEXES)) found.set(id, Buffer.from(body))
    return found
  }

  async tags(tags: Iterable<string>): Promise<Map<string, Position>> {
    return this.#readMany(
      [...tags],
      tag => rowKey('tags', tag),
      (_, value) => parse(value) as Position,
    )
  }

  async entries(range: EntriesRange): Promise<Buffer[]> {
    const { isDescending, limit } = range
    const ids = idsOf(range)
    const found: Buffer[] = []
    let [low, high] = [
      { id: ids.low, isIncluded: true },
      { id: ids.high, isIncluded: false },
    ]
    for (;;) {
      const page = await this.#inOrder(ENTRIES, { low, high, isDescending, limit })
      found.push(...page.map(entryIn).filter(entry => isInRange(entry, range)))
      const last = page.at(-1)
      if (last === undefined || page.length < limit) break
      // All entries that were cut at the same place as the last one are read.
      if (found.length >= limit && !isCutId(last.id)) break
      const next = { id: last.id, isIncluded: false }
      if (isDescending) high = next
      else low = next
    }
    found.sort((a, b) => (isDescending ? b.compare(a) : a.compare(b)))
    return found.slice(0, limit)
  }

  async allBuckets(): Promise<BucketChange[]> {
    const found: BucketChange[] = []
    for await (const entry of this.#scanAll(BUCKETS))
      found.push({ bucket: entry.id, version: parse(entry) as Position })
    return found
  }

  async buckets(names: Iterable<Key>): Promise<Map<Key, Position>> {
    return this.#readMany([...names], bucketKey, (_, value) => parse(value) as Position)
  }

  async records(table: RecordTable, ids: Iterable<string>): Promise<Map<string, string>> {
    return this.#readMany(
      [...ids],
      id => rowKey(table, id),
      (_, value) => (parse(value) as KeptRecord)[1],
    )
  }

  async *allRecords(table: RecordTable): AsyncGenerator<{ readonly id: string; readonly record: string }> {
    for await (const entry of this.#scanAll(`.ring/${table}`)) {
      const [id, record] = parse(entry) as KeptRecord
      yield { id, record }
    }
  }

  /** Deletes the record on every node that answers; an expired record does no harm where it stays. */
  async dropRecord(table: RecordTable, id: string, stamp: number): Promise<void> {
    const key = rowKey(table, id)
    await this.#options.log.majority(async node => {
      const [found] = await node.read([key])
      if (found === undefined || (parse(found) as KeptRecord)[2] > stamp) return
      await node.commit({ reads: [{ key, version: found.version }], writes: [{ key, delete: true }] })
    })
  }

  async memory(name: string): Promise<Buffer | undefined> {
    const [found] = await this.#read([rowKey('memory', name)])
    return found && Buffer.from(found.body)
  }

  async apply({ slot }: LogRecord): Promise<void> {
    await this.#reach(slot)
  }

  async close(): Promise<void> {
    await Promise.all(this.nodeRows.map(rows => rows.idle()))
  }

  /** Resolves when a majority has the rows of the log up to a decided slot. */
  #reach(slot: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (how: () => void) => {
        clearTimeout(timer)
        this.#waiting.delete(waiter)
        how()
      }
      const timer = setTimeout(() => end(() => reject(this.#options.log.lost())), APPLY_MS_MAX).unref()
      const waiter = { slot, done: () => end(resolve) }
      this.#waiting.add(waiter)
      for (const rows of this.nodeRows) rows.raise(slot)
      this.#applied()
    })
  }

  #applied(): void {
    const slots = this.nodeRows.map(({ applied }) => applied).sort((a, b) => b - a)
    const reached = slots[this.#options.log.voters.majority - 1]!
    for (const { slot, done } of [...this.#waiting]) if (slot <= reached) done()
  }

  async #readMany<Value>(
    names: readonly string[],
    keyOf: (name: string) => Key,
    read: (name: string, value: StoredValue) => Value,
  ): Promise<Map<string, Value>> {
    const found = new Map<string, Value>()
    for (let at = 0; at < names.length; at += READ_TOGETHER) {
      const some = names.slice(at, at + READ_TOGETHER)
      const values = await this.#read(some.map(keyOf))
      for (const [i, value] of values.entries()) if (value) found.set(some[i]!, read(some[i]!, value))
    }
    return found
  }

  #read(keys: readonly Key[]): Promise<readonly (StoredValue | undefined)[]> {
    return this.#fromOne(async node => {
      const floor = this.#options.floor()
      const [applied, ...values] = await node.read([APPLIED, ...keys])
      return isAt(applied, floor) ? values : undefined
    })
  }

  /** Objects of a bucket by their ids. Fewer than `limit`: there are no more. */
  async #inOrder(bucket: Key, { low, high, isDescending, limit }: IdRange): Promise<readonly StoredEntry[]> {
    if (!isDescending) {
      // The least text that is greater than `high.id`.
      const to = high?.isIncluded ? `${high.id}\0` : high?.id
      const from = low.isIncluded ? { from: low.id } : { after: low.id }
      return (await this.#scan(bucket, { ...from, ...(to !== undefined && { to }), limit })).entries
    }
    const condition = {
      ...(low.id !== '' && { [low.isIncluded ? '$gte' : '$gt']: low.id }),
      ...(high !== undefined && { [high.isIncluded ? '$lte' : '$lt']: high.id }),
    }
    const where = Object.keys(condition).length === 0 ? {} : { where: { [ID_FIELD]: condition } }
    const query = { ...where, sort: [{ field: ID_FIELD, descending: true }], limit }
    return (await this.#steadily(store => store.query(bucket, query))).entries
  }

  async #scan(
    bucket: Key,
    range: ScanRange,
  ): Promise<{ readonly entries: readonly StoredEntry[]; readonly next?: string }> {
    return this.#steadily(store => store.scan(bucket, range))
  }

  /**
   * The node states how far its rows are, before and after. So in between they were at least that far, and it was not emptied.
   */
  #steadily<Result>(read: (store: Store) => Promise<Result>): Promise<Result> {
    return this.#fromOne(async node => {
      const floor = this.#options.floor()
      const isThere = async () => isAt((await node.read([APPLIED]))[0], floor)
      if (!(await isThere())) return undefined
      const result = await node.ask(read)
      return (await isThere()) ? result : undefined
    })
  }

  async *#scanAll(bucket: Key): AsyncGenerator<StoredEntry> {
    let after = ''
    for (;;) {
      const { entries, next } = await this.#scan(bucket, after === '' ? { limit: PAGE } : { after, limit: PAGE })
      yield* entries
      if (next === undefined) return
      after = next
    }
  }

  /** From any node that answers and is far enough, beginning with a random one. */
  async #fromOne<Result>(read: (node: QuorumNode) => Promise<Result | undefined>): Promise<Result> {
    for (let tries = 1; ; tries++) {
      let isBehind = false
      for (const node of this.#nodesByChance()) {
        try {
          const result = await read(node)
          if (result !== undefined) return result
          isBehind = true
          this.#behindUntilMs.set(node, performance.now() + BEHIND_MS)
        } catch {
          // Try the next node; `lost` names the nodes that do not answer.
        }
      }
      if (!isBehind || tries === TRIES_MAX) throw this.#options.log.lost()
      // Until now, no server may have applied the records that change no rows.
      await this.#reach(this.#options.floor())
    }
  }

  #nodesByChance(): readonly QuorumNode[] {
    const { nodes } = this.#options
    const nowMs = performance.now()
    const start = Math.floor(Math.random() * nodes.length)
    const order = nodes.map((_, i) => nodes[(start + i) % nodes.length]!)
    const isLikely = (node: QuorumNode) => !node.isSilent && (this.#behindUntilMs.get(node) ?? 0) < nowMs
    return [...order.filter(isLikely), ...order.filter(node => !isLikely(node))]
  }
}

interface IdRange {
  readonly low: IdBound
  /** Undefined: up to the end of the bucket. */
  readonly high: IdBound | undefined
  readonly isDescending: boolean
  readonly limit: number
}

interface IdBound {
  readonly id: string
  readonly isIncluded: boolean
}

type KeptRecord = readonly [id: string, record: string, stamp: number]

function isAt(applied: StoredValue | undefined, floor: number): boolean {
  return applied !== undefined && (parse(applied) as Applied).slot >= floor
}
