/** A number as a record: 8 bytes, double, little-endian. */
export function encodeNumber(value: number): Uint8Array {
  const record = Buffer.allocUnsafe(8)
  record.writeDoubleLE(value)
  return record
}

export function decodeNumber(record: Buffer): number {
  return record.readDoubleLE()
}
