export { type EntryRange, encodeIndexValue, entriesUnder, entryKey, indexNumberOf, indexPrefix } from './index-keys.js'
export { entryRangesOf, idBounds, type Step, stepAt } from './index-ranges.js'
export { decodeIndexes, decodeNumbers, encodeIndexes, encodeNumbers, tagKey, toState } from './index-records.js'
export { PageCollector } from './page-collector.js'
