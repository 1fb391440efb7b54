/** Single reads of Redis: each reads one state, and returns that state's position. */
import type { Key, Position, Snapshot, StoredValue, Tag, Version } from '@freshet/core/store'
import { decodeValue } from '@freshet/store/records'
import { type Argument, type Reply, Script } from './client.js'
import { type DeclaredIndexes, readDeclared } from './declared-indexes.js'
import { READ_SCRIPT } from './index-scripts.js'
import { type Layout, parseHead } from './layout.js'
import { packParts } from './message-pack.js'
import { damaged } from './redis-errors.js'

/** A Redis to read from: the primary or a replica. */
export interface RedisReader {
  readonly place: string
  readonly layout: Layout
  command(args: readonly Argument[]): Promise<Reply>
  /** Runs a script that only reads. */
  run(script: Script, args: readonly Argument[]): Promise<Reply>
  /** Called with the position of each state that was read. */
  reached(position: Position): void
  /** Makes the error for a Redis that holds no store. */
  gone(): Error
}

/** A sorted set: the ids of a bucket, or the entries of an index. */
export interface Source {
  readonly key: string
  /** How many fields the index has; -1: these are ids. */
  readonly fields: number
  readonly isDescending: boolean
}

/** Bounds in the form of ZRANGE BYLEX. */
export interface LexRange {
  readonly low: Buffer
  readonly high: Buffer
}

/** What to read: ranges one after the other, `count` members in all. */
export interface Wanted {
  readonly hasIndexes: boolean
  readonly tags: readonly Tag[]
  readonly source: Source
  readonly ranges: readonly LexRange[]
  readonly count: number
}

/** A member, and the value of the object that it names. */
export interface Row {
  readonly member: Buffer
  readonly record: Buffer | null
}

export interface BucketState {
  readonly position: Position
  readonly version: Version
  readonly declared: DeclaredIndexes
  /** In the order of the tags. */
  readonly tagVersions: readonly Version[]
  /** One for each range that was reached. */
  readonly chunks: readonly (readonly Row[])[]
}

export const NO_SOURCE: Source = { key: '', fields: 0, isDescending: false }
const readScript = new Script(READ_SCRIPT)

export function idSource(bucket: Key, isDescending: boolean): Source {
  return { key: `i:${bucket}`, fields: -1, isDescending }
}

/** `known`: the indexes that the server knows. They are returned if the indexes are not wanted, or have not changed. */
export async function readState(
  reader: RedisReader,
  bucket: Key,
  { hasIndexes, tags, source, ranges, count }: Wanted,
  known: DeclaredIndexes,
): Promise<BucketState> {
  const { key, fields, isDescending } = source
  const bounds = ranges.map(({ low, high }) => [low, high])
  const parts = [hasIndexes ? 1 : 0, tags, key, fields, isDescending ? 1 : 0, count, bounds]
  const reply = await reader.run(readScript, [bucket, packParts(parts)])
  const [head, version, stamp, text, tagVersions, chunks] = reply as readonly Reply[]
  return {
    position: positionIn(head!, reader),
    version: Number(String(version)),
    declared: hasIndexes ? declaredIn(String(stamp), String(text), known) : known,
    tagVersions: (tagVersions as readonly Buffer[]).map(each => Number(String(each))),
    chunks: (chunks as readonly (readonly (Buffer | null)[])[]).map(rowsIn),
  }
}

/** The values that exist. */
export async function readValues(
  reader: RedisReader,
  keys: readonly Key[],
): Promise<Snapshot<ReadonlyMap<Key, StoredValue>>> {
  const { head, values } = reader.layout
  const reply = await reader.command(['MGET', head, ...keys.map(key => values + key)])
  const [found, ...records] = reply as readonly Reply[]
  const value = new Map<Key, StoredValue>()
  for (let i = 0; i < keys.length; i++) {
    const record = records[i]!
    if (record !== null) value.set(keys[i]!, valueIn(record, keys[i]!, reader))
  }
  return { value, position: positionIn(found!, reader) }
}

export function positionIn(head: Reply, reader: RedisReader): Position {
  if (head === null) throw reader.gone()
  const { position } = parseHead((head as Buffer).toString('latin1'))
  reader.reached(position)
  return position
}

/** Throws STORE_DAMAGED if the record is missing, or is not a value. */
export function valueIn(record: Reply, key: Key, { place }: Pick<RedisReader, 'place'>): StoredValue {
  const bytes = record as Buffer | null
  const value = bytes === null ? undefined : decodeValue(bytes, bytes.length)
  if (value === undefined) throw damaged(place, `${JSON.stringify(key)} is not a value that Freshet wrote`)
  return value
}

function declaredIn(stamp: string, text: string, known: DeclaredIndexes): DeclaredIndexes {
  return stamp === known.stamp && text === known.text ? known : readDeclared(stamp, text)
}

function rowsIn(parts: readonly (Buffer | null)[]): readonly Row[] {
  const rows: Row[] = []
  for (let i = 0; i < parts.length; i += 2) rows.push({ member: parts[i]!, record: parts[i + 1]! })
  return rows
}
