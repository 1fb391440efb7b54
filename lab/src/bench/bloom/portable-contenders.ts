/** The contenders that run in Node and in browsers. */
import { type ContenderLoader, stringContender } from './contender.js'

export const OURS = '@freshet/bloom'

export const portableContenders: Readonly<Record<string, ContenderLoader>> = {
  [OURS]: async () => {
    const { createBloom } = await import('@freshet/bloom')
    return stringContender({
      name: OURS,
      create: (entriesMax, falsePositiveRateMax) => createBloom({ entriesMax, falsePositiveRateMax }),
      add: (filter, key) => filter.add(key),
      has: (filter, key) => filter.has(key),
      memoryBits: filter => filter.words.byteLength * 8,
    })
  },
  bloomfilter: async () => {
    const { BloomFilter } = await import('bloomfilter')
    return stringContender({
      name: 'bloomfilter',
      create: (entries, rate) => BloomFilter.withTargetError(entries, rate),
      add: (filter, key) => filter.add(key),
      has: (filter, key) => filter.test(key),
      memoryBits: filter => filter.buckets.length * 32,
    })
  },
  '@mcrowe/minibloom': async () => {
    const { optimalFilter } = await import('@mcrowe/minibloom')
    return stringContender({
      name: '@mcrowe/minibloom',
      create: (entries, rate) => optimalFilter(entries, rate),
      add: (filter, key) => filter.add(key),
      has: (filter, key) => filter.test(key),
      memoryBits: filter => filter.numBits,
    })
  },
  '@intrnl/bloom-filter': async () => {
    const { BloomFilter } = await import('@intrnl/bloom-filter')
    return stringContender({
      name: '@intrnl/bloom-filter',
      create(entries, rate) {
        const { size, hashes } = BloomFilter.getOptimalSize(entries, rate)
        return BloomFilter.create(size, hashes)
      },
      add: (filter, key) => BloomFilter.add(filter, key),
      has: (filter, key) => BloomFilter.has(filter, key),
      memoryBits: filter => filter.filter.array.length * 8,
    })
  },
  mnemonist: async () => {
    const { BloomFilter } = await import('mnemonist')
    return stringContender({
      name: 'mnemonist',
      create: (capacity, errorRate) => new BloomFilter({ capacity, errorRate }),
      add: (filter, key) => filter.add(key),
      has: (filter, key) => filter.test(key),
      memoryBits: filter => filter.toJSON().length * 8,
    })
  },
  // Memoises its hashes in an unbounded cache, which is not counted here.
  '@pacote/bloom-filter': async () => {
    const { BloomFilter, optimal } = await import('@pacote/bloom-filter')
    return stringContender({
      name: '@pacote/bloom-filter',
      create: (entries, rate) => new BloomFilter<string>(optimal(entries, rate)),
      add: (filter, key) => filter.add(key),
      has: (filter, key) => filter.has(key),
      memoryBits: filter => filter.filter.length * 32,
    })
  },
}
