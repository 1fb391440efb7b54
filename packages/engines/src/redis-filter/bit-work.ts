/**
 * The commands that read the bits of some keys in Redis, or set them, and what the replies mean.
 *
 * For a few keys that is BITFIELD, which names each bit. If naming the bits of a long list costs more than the whole
 * filter, the whole filter is fetched. To add keys to it, their bits are combined with the filter's (BITOP OR), in the same
 * transaction. (Measured: a bit that is named takes as long as 200 to 500 bytes of filter, there and back.)
 *
 * Redis counts the bits of a byte from its highest, a filter from the lowest: place i is bit `i ^ 7` there.
 */
import { Bloom, type FilterSize, type Key, keyIndexes, type Seed } from '@freshet/bloom'
import type { Argument, Reply } from '../redis/client.js'

/** A filter's bits, under a key of Redis. */
export interface BitString extends FilterSize {
  readonly name: string
  readonly seed: Seed
}

export interface BitWork {
  /** To be run together, with nothing in between. */
  readonly commands: readonly (readonly Argument[])[]
  /** For each key, whether it was there before. */
  read(replies: readonly Reply[]): readonly boolean[]
}

const BYTES_PER_NAMED_BIT = 128

/** Whether it is cheaper to look for this many keys in the whole filter. */
export function isManyFor({ bits, hashes }: FilterSize, keys: number): boolean {
  return bits / 8 < keys * hashes * BYTES_PER_NAMED_BIT
}

export function workOf(bits: BitString, keys: readonly Key[], isAdding: boolean): BitWork {
  if (!isManyFor(bits, keys.length)) return bitField(bits, keys, isAdding)
  return isAdding ? layOver(bits, keys) : fetchWhole(bits, keys)
}

export function bloomOf(bits: BitString, found: Reply): Bloom {
  const words = new Int32Array(Math.ceil(bits.bits / 32))
  if (found) new Uint8Array(words.buffer).set((found as Buffer).subarray(0, words.byteLength))
  return new Bloom(bits, bits.seed, words)
}

function bitField(bits: BitString, keys: readonly Key[], isAdding: boolean): BitWork {
  const command = [isAdding ? 'BITFIELD' : 'BITFIELD_RO', bits.name]
  for (const key of keys) {
    for (const place of keyIndexes(key, bits)) {
      const offset = `${(place ^ 7) >>> 0}`
      if (isAdding) command.push('SET', 'u1', offset, '1')
      else command.push('GET', 'u1', offset)
    }
  }
  return {
    commands: [command],
    read([found]) {
      const were = found as readonly number[]
      return keys.map((_, i) => were.slice(i * bits.hashes, (i + 1) * bits.hashes).every(bit => bit === 1))
    },
  }
}

function fetchWhole(bits: BitString, keys: readonly Key[]): BitWork {
  return {
    commands: [['GET', bits.name]],
    read([found]) {
      const bloom = bloomOf(bits, found!)
      return keys.map(key => bloom.has(key))
    },
  }
}

function layOver(bits: BitString, keys: readonly Key[]): BitWork {
  const added = bloomOf(bits, null)
  added.addAll(keys)
  const overlay = `${bits.name}:overlay`
  return {
    commands: [
      ['GET', bits.name],
      ['SET', overlay, Buffer.from(added.words.buffer)],
      ['BITOP', 'OR', bits.name, bits.name, overlay],
      ['DEL', overlay],
    ],
    read([found]) {
      const bloom = bloomOf(bits, found!)
      return keys.map(key => {
        const isThere = bloom.has(key)
        bloom.add(key)
        return isThere
      })
    },
  }
}
