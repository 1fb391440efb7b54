/**
 * The result of an operation, as a part of records: text: fingerprint | number: position, less that of the record | number:
 * count of units, and each of them, signed | text: note.
 */
import type { DoneOperation, Position } from '@freshet/core/store'
import type { ByteReader, ByteWriter } from './byte-records.js'

export function writeDone(
  writer: ByteWriter,
  { fingerprint, position, units, note }: DoneOperation,
  from: Position,
): void {
  writer.text(fingerprint)
  writer.number(position - from)
  const all = typeof units === 'number' ? [units] : units
  writer.number(all.length)
  for (const each of all) writer.signed(each)
  writer.text(note)
}

export function readDone(reader: ByteReader, from: Position): DoneOperation {
  const fingerprint = reader.text()
  const position = from + reader.number()
  const units = Array.from({ length: reader.number() }, () => reader.signed())
  return { fingerprint, position, units: units.length === 1 ? units[0]! : units, note: reader.text() }
}
