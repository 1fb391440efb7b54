/**
 * The contenders that need Node: for Buffers, for CommonJS without strict mode, or for modules that browsers lack.
 *
 * Examined and left out:
 * - bloom-filter-js: with keys of this length, its hashes exceed the range of integers and every key is reported as present
 * - cuckoo-filter: does not load (it requires a package that it does not declare)
 * - bloom-lite: a fixed 2^32 bits in a plain array, and present as soon as one of four bits is set
 * - bfilter (bcoin): needs a native build; in its JavaScript form `fromRate` refuses filters above 36 000 bytes
 * - bloomxx, bloom-filter-cpp: need a native build
 * - @libp2p/utils: part of a large package; its Bloom filter does not pass the seed on, so all hashes are the same
 * - binary-fuse-filter: built once from 64-bit numbers, does not support adding keys
 */
import { type ContenderLoader, type FilterContender, optimalSize, stringContender } from './contender.js'

// V8 stores each element of a plain array of small numbers in a word of its own.
const ARRAY_ELEMENT_BITS = 64

/** A contender whose keys are Buffers. */
function bufferContender<Filter>(
  contender: Omit<FilterContender<Filter, Buffer>, 'toKey'>,
): FilterContender<Filter, Buffer> {
  return { ...contender, toKey: key => Buffer.from(key) }
}

export const nodeContenders: Readonly<Record<string, ContenderLoader>> = {
  'bloom-filters': async () => {
    // Node cannot see the names that this CommonJS module exports.
    const { BloomFilter } = (await import('bloom-filters')).default
    return stringContender({
      name: 'bloom-filters',
      create: (entries, rate) => BloomFilter.create(entries, rate),
      add: (filter, key) => filter.add(key),
      has: (filter, key) => filter.has(key),
      memoryBits: filter => filter.size,
    })
  },
  'bloom.js': async () => {
    const { default: BloomFilter } = await import('bloom.js')
    return stringContender({
      name: 'bloom.js',
      create(entries, rate) {
        const { bits, hashes } = optimalSize(entries, rate)
        return new BloomFilter(bits, hashes)
      },
      add: (filter, key) => filter.add(key),
      has: (filter, key) => filter.contains(key),
      memoryBits: filter => filter.numBuckets,
    })
  },
  jsbloom: async () => {
    const { filter: createFilter } = await import('jsbloom')
    return stringContender({
      name: 'jsbloom',
      create: (entries, rate) => createFilter(entries, rate),
      add: (filter, key) => filter.addEntry(key),
      has: (filter, key) => filter.checkEntry(key),
      memoryBits: filter => filter.info.buffer,
    })
  },
  'bloomfilter.js': async () => {
    const { default: BloomFilter } = await import('bloomfilter.js')
    return stringContender({
      name: 'bloomfilter.js',
      create: (entries, rate) => new BloomFilter(entries, rate),
      add: (filter, key) => filter.add(key),
      has: (filter, key) => filter.test(key),
      memoryBits: filter => filter.bytelength() * 8,
    })
  },
  blumea: async () => {
    const { BloomFilter } = await import('blumea')
    return stringContender({
      name: 'blumea',
      create: (entries, rate) => new BloomFilter(entries, rate),
      add: (filter, key) => filter.insert(key),
      has: (filter, key) => filter.find(key),
      memoryBits: filter => filter.bit_set.length * ARRAY_ELEMENT_BITS,
    })
  },
  bloem: async () => {
    const { SafeBloem } = await import('bloem')
    return bufferContender({
      name: 'bloem',
      create: (entries, rate) => new SafeBloem(entries, rate),
      add: (filter, key) => filter.add(key),
      has: (filter, key) => filter.has(key),
      memoryBits: filter => filter.filter.size,
    })
  },
  'bloom-filter': async () => {
    const { default: Filter } = await import('bloom-filter')
    return bufferContender({
      name: 'bloom-filter',
      // Bitcoin's limit of 36 000 bytes, which the library multiplies by 8.
      entriesMax: 240_000,
      create: (entries, rate) => Filter.create(entries, rate),
      add: (filter, key) => filter.insert(key),
      has: (filter, key) => filter.contains(key),
      memoryBits: filter => filter.vData.length * ARRAY_ELEMENT_BITS,
    })
  },
}
