/** What every store refuses before it begins: the caller's mistakes, thrown as TypeError. */
import { idOfKey, objectionToIndexes } from '@freshet/protocol'
import { type Addition, DECIMALS_MAX } from './operations.js'
import type { Commit, ScanRange, Write } from './store.js'

export const SCAN_LIMIT_DEFAULT = 100
export const CHANGES_LIMIT_DEFAULT = 1000

/** Throws unless there is something in the commit, be it an operation to remember or a lease that is given back, and nothing is written twice. */
export function checkCommit({ reads = [], lists = [], writes, adds = [], operation, lease }: Commit): void {
  for (const write of writes) if ('indexes' in write) checkIndexes(write)
  for (const add of adds) checkAdd(add)
  const changes = writes.length + adds.length
  if (changes === 1) return
  const isEmpty = changes + reads.length + lists.length === 0
  if (isEmpty && operation === undefined && lease?.id === undefined)
    throw new TypeError('A commit must read or write something.')
  const keys = new Set<string>()
  for (const { key } of [...writes, ...adds]) {
    if (keys.has(key))
      throw new TypeError(`A commit may write a key only once, but writes ${JSON.stringify(key)} twice.`)
    keys.add(key)
  }
}

function checkAdd({ key, by, decimals }: Addition): void {
  if (idOfKey(key) === undefined) throw new TypeError(`${JSON.stringify(key)} is a bucket, and no counter.`)
  if (!Number.isSafeInteger(by)) throw new TypeError(`What is added is a whole number of units, not ${by}.`)
  if (Number.isInteger(decimals) && decimals >= 0 && decimals <= DECIMALS_MAX) return
  throw new TypeError(`A counter has 0 to ${DECIMALS_MAX} decimals, not ${decimals}.`)
}

function checkIndexes(write: Write): void {
  if (!('indexes' in write) || write.indexes === undefined) return
  if (idOfKey(write.key) !== undefined)
    throw new TypeError(`${JSON.stringify(write.key)} is no bucket: it has no indexes.`)
  const objection = objectionToIndexes(write.indexes)
  if (objection !== undefined) throw new TypeError(`The indexes of ${write.key} cannot be declared: ${objection}.`)
}

/** The limit of a scan. */
export function scanLimit({ limit = SCAN_LIMIT_DEFAULT }: ScanRange): number {
  return checkLimit(limit)
}

export function checkLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1) return limit
  throw new TypeError(`limit must be a whole number from 1, not ${limit}.`)
}

/** Throws unless it is a position. */
export function checkPosition(name: string, position: number): void {
  if (Number.isSafeInteger(position) && position >= 0) return
  throw new TypeError(`${name} must be a position, a whole number from 0, not ${position}.`)
}
