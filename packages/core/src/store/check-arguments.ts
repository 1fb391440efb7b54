/** The caller's mistakes that every store refuses before it begins, thrown as TypeError. */
import { idOfKey, OPERATION_ID_BYTES_MAX, objectionToIndexes } from '@freshet/protocol'
import { type Addition, DECIMALS_MAX, type Operation } from './operations.js'
import type { Commit, LeaseAsk, ReadList, ScanRange, Write } from './store.js'

const SCAN_LIMIT_DEFAULT = 100
export const CHANGES_LIMIT_DEFAULT = 1000

/**
 * Throws unless every member is what `Commit` says, there is something in the commit (which may be an operation to remember or a
 * lease to give back), and nothing is written twice. After this check, a mistake could spoil other commits of the same step.
 */
export function checkCommit({ reads = [], lists = [], writes, adds = [], operation, lease }: Commit): void {
  for (const { key, version } of reads) {
    checkText('The key of a read', key)
    checkPosition('The version of a read', version)
  }
  for (const list of lists) checkList(list)
  for (const write of writes) checkWrite(write)
  for (const add of adds) checkAdd(add)
  if (operation !== undefined) checkOperation(operation)
  if (lease !== undefined) checkLease(lease)
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

function checkText(what: string, text: string): void {
  if (typeof text !== 'string' || text === '') throw new TypeError(`${what} must be text, not ${JSON.stringify(text)}.`)
}

function checkList({ bucket, version, tags, from, to, after, prefix, through }: ReadList): void {
  checkText('The bucket of a list', bucket)
  checkPosition('The version of a list', version)
  for (const bound of [from, to, after, prefix, through]) {
    if (bound !== undefined && typeof bound !== 'string')
      throw new TypeError(`A list is bounded by ids, not ${String(bound)}.`)
  }
  if (tags === undefined) return
  if (!Array.isArray(tags)) throw new TypeError('The tags of a list must be an array.')
  for (const tag of tags) checkText('A tag', tag)
}

function checkWrite(write: Write): void {
  checkText('The key of a write', write.key)
  if ('indexes' in write) checkIndexes(write)
  if ('delete' in write) {
    if (write.delete !== true) throw new TypeError(`delete must be true, not ${String(write.delete)}.`)
    return
  }
  if (typeof write.contentType !== 'string') throw new TypeError('The contentType of a write must be text.')
  if (!(write.body instanceof Uint8Array)) throw new TypeError('The body of a write must be a Uint8Array.')
}

function checkAdd({ key, by, decimals, min = 0, max = 0 }: Addition): void {
  checkText('The key of an addition', key)
  if (idOfKey(key) === undefined) throw new TypeError(`${JSON.stringify(key)} is a bucket, not a counter.`)
  if (!Number.isSafeInteger(by)) throw new TypeError(`An addition must be a whole number of units, not ${by}.`)
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max))
    throw new TypeError(`The bounds of a counter must be whole numbers of units, not ${min} and ${max}.`)
  if (Number.isInteger(decimals) && decimals >= 0 && decimals <= DECIMALS_MAX) return
  throw new TypeError(`A counter must have 0 to ${DECIMALS_MAX} decimals, not ${decimals}.`)
}

function checkOperation({ id, fingerprint, note = '' }: Operation): void {
  if (typeof fingerprint !== 'string') throw new TypeError('The fingerprint of an operation must be text.')
  if (typeof note !== 'string') throw new TypeError('The note of an operation must be text.')
  if (id.kind !== 'own' && id.kind !== 'foreign')
    throw new TypeError(`The id of an operation must be own or foreign, not ${JSON.stringify(id)}.`)
  checkOperationText(id.kind === 'own' ? id.client : id.id)
  if (id.kind === 'foreign') return
  const { sequence, settledTo, madeMs } = id
  checkPosition('settledTo of an operation', settledTo)
  if (!Number.isSafeInteger(sequence) || sequence <= settledTo)
    throw new TypeError(`The sequence of an operation must be a whole number above settledTo, not ${sequence}.`)
  if (!Number.isFinite(madeMs)) throw new TypeError(`madeMs of an operation must be a time, not ${madeMs}.`)
}

function checkOperationText(id: string): void {
  checkText('The id of an operation', id)
  if (id.length <= OPERATION_ID_BYTES_MAX) return
  throw new TypeError(`The id of an operation may have at most ${OPERATION_ID_BYTES_MAX} characters, not ${id.length}.`)
}

function checkLease({ id, ms = 0, keys }: LeaseAsk): void {
  if (id !== undefined) checkText('The id of a lease', id)
  if (!Number.isFinite(ms)) throw new TypeError(`The duration of a lease must be a number of milliseconds, not ${ms}.`)
  for (const key of keys) checkText('A leased key', key)
}

function checkIndexes(write: Write): void {
  if (!('indexes' in write) || write.indexes === undefined) return
  if (idOfKey(write.key) !== undefined)
    throw new TypeError(`${JSON.stringify(write.key)} is not a bucket, so it cannot have indexes.`)
  const objection = objectionToIndexes(write.indexes)
  if (objection !== undefined) throw new TypeError(`The indexes of ${write.key} cannot be declared: ${objection}.`)
}

/** The limit of a scan. */
export function scanLimit({ limit = SCAN_LIMIT_DEFAULT }: ScanRange): number {
  return checkLimit(limit)
}

export function checkLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1) return limit
  throw new TypeError(`limit must be a whole number of at least 1, not ${limit}.`)
}

/** Throws unless it is a position. */
export function checkPosition(name: string, position: number): void {
  if (Number.isSafeInteger(position) && position >= 0) return
  throw new TypeError(`${name} must be a position, a whole number of at least 0, not ${position}.`)
}
