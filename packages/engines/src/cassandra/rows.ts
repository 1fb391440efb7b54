/** The rows below the log: reads them, and writes the changes of records to them. */
import { createHash } from 'node:crypto'
import type { BucketChange, Key, Position, StoredValue } from '@freshet/core/store'
import { bucketOfKey, idOfKey } from '@freshet/protocol'
import type { EntriesRange, KeyedValue, KeyRange } from '@freshet/store/engine'
import { indexNumberOf } from '@freshet/store/indexes'
import { encodeValue } from '@freshet/store/records'
import type { types } from 'cassandra-driver'
import { type Effects, type LogRecord, readEntry, readValue } from '../log/log-record.js'
import type { Rows as LoggedRows, RecordTable } from '../log/log-storage.js'
import type { Parameter, Session, Statement } from './session.js'
import { OWN_ID, type RangeName, SHARDS, type StatementName } from './statements.js'

const IDS_PER_READ = 100
const WRITES_TOGETHER = 50
const BYTES_TOGETHER = 512 * 1024
const AT_ONCE = 32

export class Rows implements LoggedRows {
  readonly #session: Session
  readonly #store: string

  constructor(session: Session, store: string) {
    this.#session = session
    this.#store = store
  }

  /** `nearest`: from one copy, which may be behind. */
  async object(key: Key, at: 'rows' | 'nearest' = 'rows'): Promise<StoredValue | undefined> {
    const { bucket, id } = placeOf(key)
    const row = (await this.#session.read(at, 'object', [this.#store, bucket, id])).first()
    return row ? readValue(key, row.value) : undefined
  }

  async objects(keys: Iterable<Key>): Promise<Map<Key, StoredValue>> {
    const byBucket = groupBy(
      [...keys].map(key => ({ key, ...placeOf(key) })),
      ({ bucket }) => bucket,
    )
    const found = new Map<Key, StoredValue>()
    await this.#readIn(
      'objects',
      [...byBucket],
      ({ id }) => id,
      (bucket, row) => {
        const key = row.id === OWN_ID ? bucket : `${bucket}/${row.id}`
        found.set(key, readValue(key, row.value))
      },
    )
    return found
  }

  async page(bucket: Key, { low, high, isDescending, limit }: KeyRange): Promise<KeyedValue[]> {
    const folder = `${bucket}/`
    const lowId = low.key.slice(folder.length)
    // A bound above all keys of the bucket is not an id of the bucket.
    const highId = high.key.startsWith(folder) ? high.key.slice(folder.length) : undefined
    const begin = low.isIncluded && lowId !== '' ? '>=' : '>'
    const end = highId === undefined ? 'end' : high.isIncluded ? '<=' : '<'
    const name: RangeName = `objects ${begin} ${end} ${isDescending ? 'DESC' : 'ASC'}`
    const bounds = [lowId === '' ? OWN_ID : lowId, ...(highId === undefined ? [] : [highId])]
    const { rows } = await this.#session.read('rows', name, [this.#store, bucket, ...bounds, limit])
    return rows.map(({ id, value }) => {
      const key = `${folder}${id}`
      return { key, ...readValue(key, value) }
    })
  }

  async count(bucket: Key): Promise<number> {
    let count = 0
    for await (const { id } of this.#session.readAll('ids', [this.#store, bucket])) if (id !== OWN_ID) count++
    return count
  }

  async indexes(buckets: Iterable<Key>): Promise<Map<Key, Buffer>> {
    const found = new Map<Key, Buffer>()
    for (const some of chunks([...buckets], IDS_PER_READ)) {
      const { rows } = await this.#session.read('rows', 'indexesIn', [this.#store, some])
      for (const { bucket, record } of rows) found.set(bucket, record)
    }
    return found
  }

  async allIndexes(): Promise<Map<Key, Buffer>> {
    const found = new Map<Key, Buffer>()
    for await (const { bucket, record } of this.#session.readAll('indexes', [this.#store])) found.set(bucket, record)
    return found
  }

  async tags(tags: Iterable<string>): Promise<Map<string, Position>> {
    const found = new Map<string, Position>()
    await this.#readIn(
      'tags',
      [...groupBy([...tags], shardOf)],
      id => id,
      (_, row) => found.set(row.id, row.position.toNumber()),
    )
    return found
  }

  async entries({ low, high, after, isDescending, limit }: EntriesRange): Promise<Buffer[]> {
    const partition = [this.#store, indexNumberOf(low)]
    const [name, bounds]: [StatementName, Buffer[]] = isDescending
      ? ['entriesDescending', [low, after ?? high]]
      : [after === undefined ? 'entries' : 'entriesAfter', [after ?? low, high]]
    const { rows } = await this.#session.read('rows', name, [...partition, ...bounds, limit])
    return rows.map(({ entry }) => entry)
  }

  async allBuckets(): Promise<BucketChange[]> {
    const found: BucketChange[] = []
    for await (const { bucket, position } of this.#session.readAll('buckets', [this.#store])) {
      found.push({ bucket, version: position.toNumber() })
    }
    return found
  }

  async buckets(names: Iterable<Key>): Promise<Map<Key, Position>> {
    const found = new Map<Key, Position>()
    for (const some of chunks([...names], IDS_PER_READ)) {
      const { rows } = await this.#session.read('rows', 'bucketsIn', [this.#store, some])
      for (const { bucket, position } of rows) found.set(bucket, position.toNumber())
    }
    return found
  }

  async records(table: RecordTable, ids: Iterable<string>): Promise<Map<string, string>> {
    const found = new Map<string, string>()
    const byShard = groupBy([...ids], shardOf)
    await this.#readIn(
      table,
      [...byShard],
      id => id,
      (_, row) => found.set(row.id, row.record),
    )
    return found
  }

  async *allRecords(table: RecordTable): AsyncGenerator<{ readonly id: string; readonly record: string }> {
    const name = table === 'clients' ? 'allClients' : 'allOperations'
    for (let shard = 0; shard < SHARDS; shard++) {
      for await (const { id, record } of this.#session.readAll(name, [this.#store, shard])) yield { id, record }
    }
  }

  async dropRecord(table: RecordTable, id: string, stamp: number): Promise<void> {
    const name = table === 'clients' ? 'dropClient' : 'dropOperation'
    await this.#session.write('rows', name, [stamp, this.#store, shardOf(id), id])
  }

  async memory(name: string): Promise<Buffer | undefined> {
    return (await this.#session.read('rows', 'memory', [this.#store, name])).first()?.value
  }

  /** Rows carry the record's stamp as their timestamp. */
  async apply(record: LogRecord): Promise<void> {
    const together = [...this.#partitionsOf(record)].flatMap(statements => [...inParts(statements)])
    let next = 0
    const worker = async () => {
      for (let i = next++; i < together.length; i = next++) await this.#session.writeTogether(together[i]!)
    }
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, together.length) }, worker))
  }

  /** The statements that write the record, by partition. */
  *#partitionsOf({ state: { stamp }, effects }: LogRecord): Generator<Statement[]> {
    const store = this.#store
    for (const [bucket, changes] of groupBy([...effects.objects], ([key]) => bucketOfKey(key))) {
      yield changes.map(([key, value]): Statement => {
        const { id } = placeOf(key)
        return value === undefined
          ? { name: 'dropObject', parameters: [stamp, store, bucket, id] }
          : { name: 'putObject', parameters: [store, bucket, id, encodeValue(value.version, value), stamp] }
      })
    }
    yield [...effects.buckets].map(([bucket, position]) => ({
      name: 'putBucket',
      parameters: [store, bucket, position, stamp],
    }))
    for (const [name, records] of [
      ['putClient', effects.clients],
      ['putOperation', effects.operations],
    ] as const) {
      for (const [shard, some] of groupBy([...records], ([id]) => shardOf(id))) {
        yield some.map(([id, text]) => ({ name, parameters: [store, shard, id, text, stamp] }))
      }
    }
    yield [...effects.memory].map(([name, value]) => ({ name: 'putMemory', parameters: [store, name, value, stamp] }))
    yield* this.#indexPartitionsOf(effects, stamp)
  }

  *#indexPartitionsOf({ indexes, tags, entries, cleared }: Effects, stamp: number): Generator<Statement[]> {
    const store = this.#store
    yield Array.from(indexes, ([bucket, record]) => ({
      name: 'putIndexes',
      parameters: [store, bucket, record, stamp],
    }))
    for (const [shard, some] of groupBy([...tags], ([tag]) => shardOf(tag))) {
      yield some.map(([tag, position]) => ({ name: 'putTag', parameters: [store, shard, tag, position, stamp] }))
    }
    const changes = Array.from(entries, ([text, isThere]) => ({ entry: readEntry(text), isThere }))
    for (const [number, some] of groupBy(changes, ({ entry }) => indexNumberOf(entry))) {
      yield some.map(({ entry, isThere }) =>
        isThere
          ? { name: 'putEntry', parameters: [store, number, entry, stamp] }
          : { name: 'dropEntry', parameters: [stamp, store, number, entry] },
      )
    }
    for (const number of cleared) yield [{ name: 'dropEntries', parameters: [stamp, store, number] }]
  }

  async #readIn<Item>(
    name: 'objects' | 'clients' | 'operations' | 'tags',
    partitions: readonly (readonly [string | number, readonly Item[]])[],
    idOf: (item: Item) => string,
    take: (partition: string, row: types.Row) => void,
  ): Promise<void> {
    const reads = partitions.flatMap(([partition, items]) =>
      chunks(items.map(idOf), IDS_PER_READ).map(async ids => {
        const { rows } = await this.#session.read('rows', name, [this.#store, partition, ids])
        for (const row of rows) take(`${partition}`, row)
      }),
    )
    await Promise.all(reads)
  }
}

function placeOf(key: Key): { readonly bucket: Key; readonly id: string } {
  return { bucket: bucketOfKey(key), id: idOfKey(key) ?? OWN_ID }
}

function shardOf(id: string): number {
  return createHash('md5').update(id).digest()[0]! % SHARDS
}

/** Splits statements so that no batch has too many, or too many bytes. */
function* inParts(statements: readonly Statement[]): Generator<readonly Statement[]> {
  let part: Statement[] = []
  let bytes = 0
  for (const statement of statements) {
    part.push(statement)
    bytes += statement.parameters.reduce<number>((sum, each) => sum + sizeOf(each), 0)
    if (part.length < WRITES_TOGETHER && bytes < BYTES_TOGETHER) continue
    yield part
    part = []
    bytes = 0
  }
  if (part.length > 0) yield part
}

function sizeOf(parameter: Parameter): number {
  return typeof parameter === 'string' || parameter instanceof Uint8Array ? parameter.length : 8
}

function groupBy<Item, Group>(items: readonly Item[], groupOf: (item: Item) => Group): Map<Group, Item[]> {
  const groups = new Map<Group, Item[]>()
  for (const item of items) {
    const group = groups.get(groupOf(item))
    if (group) group.push(item)
    else groups.set(groupOf(item), [item])
  }
  return groups
}

function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size))
}
