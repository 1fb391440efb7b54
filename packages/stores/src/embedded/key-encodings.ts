/** How keys are laid out for the engine, which compares them byte by byte. */
import type { KeyEncoder } from './engine.js'

const TWO_TO_32 = 2 ** 32

/** Text as UTF-8, written straight into the engine's buffer. */
export const textKeys: KeyEncoder<string> = {
  writeKey(key, target, start) {
    const { length } = key
    checkRoom(key, target, start)
    for (let i = 0; i < length; i++) {
      const unit = key.charCodeAt(i)
      if (unit > 0x7f) return start + target.write(key, start)
      target[start + i] = unit
    }
    return start + length
  },
  readKey: (source, start, end) => source.toString('utf8', start, end),
}

/** The engine expects a RangeError when its buffer is too small, and then comes with a fresh one. */
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
