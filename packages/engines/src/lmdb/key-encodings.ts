/** How keys are laid out for LMDB, which compares them byte by byte. */
import type { KeyEncoder } from './environment.js'

const TWO_TO_32 = 2 ** 32

/**
 * Text as UTF-8, written straight into LMDB's buffer. With one call: LMDB's buffers are objects of many shapes, so a loop
 * that stores byte by byte takes ten times as long.
 */
export const textKeys: KeyEncoder<string> = {
  writeKey(key, target, start) {
    checkRoom(key, target, start)
    return start + target.write(key, start)
  },
  readKey: (source, start, end) => source.toString('utf8', start, end),
}

/** LMDB expects a RangeError when its buffer is too small, and then calls again with a new one. */
function checkRoom(key: string, target: Buffer, start: number): void {
  const room = target.length - start
  if (key.length * 3 <= room || Buffer.byteLength(key) <= room) return
  throw new RangeError('The key does not fit into what is left of the buffer.')
}

/** Bytes, as they are. */
export const byteKeys: KeyEncoder<Buffer> = {
  writeKey(key, target, start) {
    if (target.length - start < key.length)
      throw new RangeError('The key does not fit into what is left of the buffer.')
    target.set(key, start)
    return start + key.length
  },
  readKey: (source, start, end) => Buffer.from(source.subarray(start, end)),
}

/** Positions, big-endian, so that they are in order. */
export const positionKeys: KeyEncoder<number> = {
  writeKey(position, target, start) {
    if (target.length - start < 8) throw new RangeError('The position does not fit into what is left of the buffer.')
    target.writeUInt32BE(Math.floor(position / TWO_TO_32), start)
    target.writeUInt32BE(position % TWO_TO_32, start + 4)
    return start + 8
  },
  readKey: (source, start) => source.readUInt32BE(start) * TWO_TO_32 + source.readUInt32BE(start + 4),
}
