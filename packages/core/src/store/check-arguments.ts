/** What every store refuses before it begins: the caller's mistakes, thrown as TypeError. */
import type { Commit, ScanRange } from './store.js'

export const SCAN_LIMIT_DEFAULT = 100
export const CHANGES_LIMIT_DEFAULT = 1000

/** Throws unless there is something in the commit, be it a lease that is given back, and nothing is written twice. */
export function checkCommit({ reads = [], lists = [], writes, lease }: Commit): void {
  if (writes.length === 1) return
  const isEmpty = writes.length + reads.length + lists.length === 0
  if (isEmpty && lease?.id === undefined) throw new TypeError('A commit must read or write something.')
  const keys = new Set<string>()
  for (const { key } of writes) {
    if (keys.has(key))
      throw new TypeError(`A commit may write a key only once, but writes ${JSON.stringify(key)} twice.`)
    keys.add(key)
  }
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
