/**
 * The keys of index entries, laid out so that the order of their bytes is the order of queries (`compareValues` in core). All
 * numbers are big-endian.
 *
 *     entry     4: number of the index | the values of its fields, below | id, UTF-8
 *
 *     missing   05
 *     null      10
 *     false     20
 *     true      21
 *     number    30 | 8: double; all bits inverted if it is negative, else only the sign bit
 *     text      40 | UTF-8, at most 200 bytes after 00 became 01 01, and 01 became 01 02 | 00
 *     other     50    arrays and objects
 *
 * A text of 200 bytes may have been cut. The entries that share a cut text have no meaningful order after it: readers sort
 * such runs of entries themselves. After its index number, no byte of an entry is ff, so ff ends every range.
 */
import type { Condition, Scalar, SortValue } from '@freshet/protocol'

export const TEXT_BYTES_MAX = 200
const MISSING = 0x05
const NULL = 0x10
const FALSE = 0x20
const TRUE = 0x21
const NUMBER = 0x30
const TEXT = 0x40
const OTHER = 0x50
const NUMBER_BYTES = 9
const INDEX_BYTES = 4
const END = Buffer.of(0xff)

export function indexPrefix(number: number): Buffer {
  const prefix = Buffer.allocUnsafe(INDEX_BYTES)
  prefix.writeUInt32BE(number)
  return prefix
}

/** The number of the index to which an entry, or a bound of a range of entries, belongs. */
export function indexNumberOf(entry: Buffer): number {
  return entry.readUInt32BE()
}

export function entryKey(number: number, values: readonly SortValue[], id: string): Buffer {
  return Buffer.concat([indexPrefix(number), ...values.map(encodeIndexValue), Buffer.from(id)])
}

export function encodeIndexValue(value: SortValue): Buffer {
  if (value === undefined) return Buffer.of(MISSING)
  if (value === null) return Buffer.of(NULL)
  if (typeof value === 'boolean') return Buffer.of(value ? TRUE : FALSE)
  if (typeof value === 'number') return encodeNumber(value)
  return typeof value === 'string' ? Buffer.concat([encodeText(value), Buffer.of(0)]) : Buffer.of(OTHER)
}

function encodeNumber(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(NUMBER_BYTES)
  bytes[0] = NUMBER
  // Without the sign of -0, which is equal to 0.
  bytes.writeDoubleBE(value === 0 ? 0 : value, 1)
  if (value < 0) for (let i = 1; i < NUMBER_BYTES; i++) bytes[i] = ~bytes[i]!
  else bytes[1]! ^= 0x80
  return bytes
}

/** Without the final 0, so that the result is a prefix of every text that begins with this one. */
function encodeText(text: string): Buffer {
  // A longer part cannot matter, since each character takes at least a byte.
  const plain = Buffer.from(text.slice(0, TEXT_BYTES_MAX))
  const safe = plain.some(byte => byte <= 1) ? escaped(plain) : plain
  return Buffer.concat([Buffer.of(TEXT), safe.subarray(0, TEXT_BYTES_MAX)])
}

function escaped(bytes: Buffer): Buffer {
  return Buffer.from([...bytes].flatMap(byte => (byte <= 1 ? [1, byte + 1] : [byte])))
}

/** Whether entries with this value may be unordered after it. */
export function mayBeCut(encoded: Uint8Array): boolean {
  return encoded[0] === TEXT && encoded.length === TEXT_BYTES_MAX + 2
}

/** Where each of the first `count` values of an entry ends. */
export function valueEnds(entry: Buffer, count: number): number[] {
  const ends: number[] = []
  for (let at = INDEX_BYTES; ends.length < count; ends.push(at)) {
    if (entry[at] === TEXT) at = entry.indexOf(0, at) + 1
    else at += entry[at] === NUMBER ? NUMBER_BYTES : 1
  }
  return ends
}

export interface EntryRange {
  /** Inclusive. */
  readonly low: Buffer
  /** Exclusive. */
  readonly high: Buffer
}

/** All entries with this prefix. */
export function entriesUnder(prefix: Buffer): EntryRange {
  return { low: prefix, high: Buffer.concat([prefix, END]) }
}

/**
 * Narrows a range of entries by the conditions on the value after `prefix`. The result may still contain entries that do not
 * match: those at a bound, and those whose text was cut.
 */
export function narrow(range: EntryRange, prefix: Buffer, conditions: readonly Condition[]): EntryRange {
  let { low, high } = range
  for (const condition of conditions) {
    for (const [operator, operand] of Object.entries(condition)) {
      const bounds = boundsOf(operator, operand)
      if (bounds === undefined) continue
      low = later(low, Buffer.concat([prefix, bounds.low]))
      high = earlier(high, Buffer.concat([prefix, bounds.high]))
    }
  }
  return { low, high }
}

function boundsOf(operator: string, operand: unknown): EntryRange | undefined {
  if (operator === '$prefix') return entriesUnder(encodeText(operand as string))
  if (!['$lt', '$lte', '$gt', '$gte'].includes(operator)) return undefined
  const encoded = encodeIndexValue(operand as Scalar)
  const [low, high] = typeRange(operand as Scalar)
  if (operator === '$gt' || operator === '$gte') return { low: encoded, high }
  const isInclusive = operator === '$lte' || mayBeCut(encoded)
  return { low, high: isInclusive ? Buffer.concat([encoded, END]) : encoded }
}

/** Comparisons only match values of the same type. */
function typeRange(value: Scalar): readonly [low: Buffer, high: Buffer] {
  if (value === null) return [Buffer.of(NULL), Buffer.of(NULL + 1)]
  if (typeof value === 'boolean') return [Buffer.of(FALSE), Buffer.of(TRUE + 1)]
  const tag = typeof value === 'number' ? NUMBER : TEXT
  return [Buffer.of(tag), Buffer.of(tag + 1)]
}

export function later(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) >= 0 ? a : b
}

export function earlier(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) <= 0 ? a : b
}
