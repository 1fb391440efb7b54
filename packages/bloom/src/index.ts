export {
  type CounterBits,
  CountingBloom,
  type CountingBloomOptions,
  createCountingBloom,
} from './counting/counting-bloom.js'
export { FilterError, type FilterErrorCode } from './filter-error.js'
export { hashUnder, type KeyHash } from './hashing/hash-under.js'
export type { Key } from './hashing/key-hash.js'
export type { Seed } from './hashing/seed.js'
export { Bloom, type BloomOptions, type BloomView, createBloom } from './plain/bloom.js'
export { keyIndexes } from './plain/key-indexes.js'
export { expectedRate, type FilterSize, sizeFor } from './plain/sizing.js'
export {
  AgePartitionedBloom,
  type AgePartitionedBloomOptions,
  createAgePartitionedBloom,
} from './windowed/age-partitioned-bloom.js'
export { AgedCuckoo, type AgedCuckooOptions, createAgedCuckoo } from './windowed/aged-cuckoo.js'
export {
  type AdaptationOptions,
  createForgetfulBloom,
  ForgetfulBloom,
  type ForgetfulBloomOptions,
} from './windowed/forgetful-bloom.js'
export { createRecyclableBloom, RecyclableBloom, type RecyclableBloomOptions } from './windowed/recyclable-bloom.js'
export { createRotatingBloom, RotatingBloom, type RotatingBloomOptions } from './windowed/rotating-bloom.js'
export { createWindowedFilter, type WindowedFilter, type WindowedFilterOptions } from './windowed/windowed-filter.js'
export { bloomFromJson, bloomToJson, decodeBloom, encodeBloom } from './wire/bloom-wire.js'
export {
  countingBloomFromJson,
  countingBloomToJson,
  decodeCountingBloom,
  encodeCountingBloom,
} from './wire/counting-bloom-wire.js'
export type { DecodeOptions } from './wire/encoded-filter.js'
export type { FilterJson } from './wire/json.js'
