export { type Changed, decodeLogBatch, encodeLogBatch } from './log-batch.js'
export { decodeNumber, encodeNumber } from './number-record.js'
export { bodyOf, type Content, checkStorable, decodeValue, encodeValue, isTooLong, versionOf } from './value-record.js'
