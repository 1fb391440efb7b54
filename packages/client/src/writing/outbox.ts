/**
 * Writes that outlive the page or the process that began them: each is put into a storage before it is sent, and stays there
 * until it is answered or given up. After a reload, a crash or hours without a network, `flush` sends the remaining writes under
 * their original ids, so each takes effect once even if it was done before.
 *
 * Several pages may share a storage. Each has its own random ids, and an entry for each write, named by its id: so pages never
 * write the same entry. If two pages send the same one, the server does it once and answers both. Where the platform has locks
 * (`navigator.locks`: browsers), a page holds one as long as it lives, and others leave its writes under way alone.
 */
import { FreshetError, type Path } from '@freshet/protocol'
import { isLost, isPassing } from '../http/back-off.js'
import { createNonce } from '../http/nonce.js'
import type { Request } from '../http/transport.js'
import type { Operation, OperationIds } from '../operations/operation-ids.js'
import { checkAdditions } from './additions.js'
import type { Write, WriteOptions } from './write.js'

/**
 * Where `connect` keeps the writes that are not answered yet: `localStorage`, or what has its methods. If `setItem` throws, such
 * as for lack of space, the write throws the same and is not sent.
 *
 * @example
 * import { connect, type OutboxStorage } from '@freshet/client'
 *
 * const entries = new Map<string, string>() // in a program: something that outlives the process
 * const storage: OutboxStorage = {
 *   get length() {
 *     return entries.size
 *   },
 *   key: index => [...entries.keys()][index] ?? null,
 *   getItem: name => entries.get(name) ?? null,
 *   setItem: (name, value) => void entries.set(name, value),
 *   removeItem: name => void entries.delete(name),
 * }
 * const db = await connect('http://localhost:7700', { outbox: storage })
 * await db.bucket('shop/products').put('jug', { name: 'Jug', price: 12 })
 * console.log(db.outbox?.size) // 0
 * db.close()
 */
export interface OutboxStorage {
  /** How many entries there are. */
  readonly length: number
  /** The name of the entry with this number, from 0; null beyond the last. */
  key(index: number): string | null
  /** The value of an entry; null if it does not exist. */
  getItem(name: string): string | null
  /** Stores an entry, or replaces its value. It must be stored when this returns. */
  setItem(name: string, value: string): void
  /** Removes an entry, if it exists. */
  removeItem(name: string): void
}

/** A write that was waiting in the outbox. */
export interface FlushedWrite {
  /** Such as `PUT`. */
  readonly method: string
  /** Such as `/db/shop/products/42`. */
  readonly target: string
}

/** The outcome of the waiting writes: `db.outbox.flush()`. */
export interface Flushed {
  /** The writes that were done, now or before, with their first answer. */
  readonly done: readonly (FlushedWrite & { readonly answer: unknown })[]
  /** The writes that the server refused, and why: a conflict, OPERATION_EXPIRED. They are not retried. */
  readonly refused: readonly (FlushedWrite & { readonly body: Request['body']; readonly error: FreshetError })[]
  /** How many are left, because the server could not be reached or another page has them under way. */
  readonly left: number
}

/** Sends the remaining writes. */
export interface OutboxWriter {
  readonly ids: OperationIds
  write(write: Write, options: WriteOptions): Promise<unknown>
}

interface Entry {
  readonly key: string
  /** The page that has it under way, if any. */
  readonly owner?: string
  readonly method: Request['method']
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Whether the body is bytes, in base64. */
  readonly isBytes?: true
  /** Whether its body has several keys, one for each of several operations. */
  readonly isBatch?: true
  readonly paths: readonly Path[]
  readonly deleted: readonly Path[]
}

interface Locks {
  request(name: string, options: { readonly signal: AbortSignal }, held: () => Promise<unknown>): Promise<unknown>
  query(): Promise<{ readonly held?: readonly { readonly name?: string }[] }>
}

export class Outbox {
  readonly #storage: OutboxStorage
  readonly #prefix: string
  readonly #owner = createNonce()
  readonly #underWay = new Set<string>()

  /** `base`: the server's address, because one storage may serve several servers. */
  constructor(storage: OutboxStorage, base: string, closed: AbortSignal) {
    if (typeof storage.setItem !== 'function' || typeof storage.key !== 'function') {
      throw new FreshetError(
        'OPTIONS_INVALID',
        'outbox must be a storage such as localStorage, with length, key, getItem, setItem and removeItem.',
      )
    }
    this.#storage = storage
    this.#prefix = `freshet-outbox ${base} `
    const held = new Promise<unknown>(resolve => closed.addEventListener('abort', resolve, { once: true }))
    locks()
      ?.request(lockOf(this.#owner), { signal: closed }, () => held)
      .catch(() => {})
  }

  /** How many writes are waiting for an answer or to be sent again, including those of other pages. */
  get size(): number {
    return this.#names().length
  }

  /** Call this before the write is sent. */
  note(operations: readonly Operation[], write: Write): void {
    const name = nameOf(operations)
    this.#storage.setItem(this.#prefix + name, JSON.stringify(toEntry(operations, write, this.#owner)))
    this.#underWay.add(name)
  }

  remove(operations: readonly Operation[]): void {
    const name = nameOf(operations)
    this.#underWay.delete(name)
    this.#storage.removeItem(this.#prefix + name)
  }

  /** Call this after a failure: returns the error to throw if the write is to be sent again later; undefined if it is not. */
  keep(operations: readonly Operation[], write: Write, error: unknown): FreshetError | undefined {
    const name = nameOf(operations)
    if (!this.#underWay.delete(name) || !isUndecided(error)) return undefined
    this.#storage.setItem(this.#prefix + name, JSON.stringify(toEntry(operations, write)))
    return new FreshetError(
      error.code,
      `${error.message} The write is in the outbox: db.outbox.flush() sends it again.`,
      {
        cause: error,
        details: { ...error.details, outcome: 'unknown', kept: true },
      },
    )
  }

  /** Sends the remaining writes, oldest first, until all are answered or the server cannot be reached. */
  async flush(writer: OutboxWriter): Promise<Flushed> {
    const done: Flushed['done'][number][] = []
    const refused: Flushed['refused'][number][] = []
    for (const entry of await this.#waiting()) {
      const { method, target } = entry
      const write = toWrite(entry, writer.ids)
      try {
        // Another page may have sent it meanwhile.
        if (this.#storage.getItem(this.#prefix + nameOf(write.operations)) === null) continue
        done.push({ method, target, answer: await writer.write(write, {}) })
      } catch (error) {
        if (!(error instanceof FreshetError)) throw error
        if (error.details.kept === true) break
        // The page that began it has its answer, and has begun other writes since.
        if (error.code !== 'OPERATION_SETTLED') refused.push({ method, target, body: write.request.body, error })
      }
    }
    return { done, refused, left: this.size }
  }

  /** The writes that no page has under way, in the order in which they were begun. */
  async #waiting(): Promise<readonly Entry[]> {
    const held = (await locks()?.query())?.held?.map(({ name }) => name) ?? []
    return this.#names()
      .filter(name => !this.#underWay.has(name))
      .map(name => this.#storage.getItem(this.#prefix + name))
      .filter(text => text !== null)
      .map(text => JSON.parse(text) as Entry)
      .filter(({ owner }) => owner === undefined || owner === this.#owner || !held.includes(lockOf(owner)))
      .sort(inOrder)
  }

  #names(): string[] {
    return Array.from({ length: this.#storage.length }, (_, i) => this.#storage.key(i) ?? '')
      .filter(name => name.startsWith(this.#prefix))
      .map(name => name.slice(this.#prefix.length))
  }
}

function locks(): Locks | undefined {
  return (globalThis as { navigator?: { locks?: Locks } }).navigator?.locks
}

function lockOf(owner: string): string {
  return `freshet-outbox ${owner}`
}

function nameOf([first]: readonly Operation[]): string {
  return first?.name ?? ''
}

/** Whether a retry may succeed, or the page ends before there is an answer. */
function isUndecided(error: unknown): error is FreshetError {
  if (!(error instanceof FreshetError)) return false
  return isPassing(error) || isLost(error) || error.details.closed === true || error.details.reason === 'early'
}

function toEntry(operations: readonly Operation[], write: Write, owner?: string): Entry {
  const { paths, deleted = [], request } = write
  const { method, target, headers = {}, body } = request
  const { 'idempotency-key': key, ...others } = headers
  const isBatch = write.operations !== undefined && key === undefined
  return {
    key: operations[0]!.key,
    ...(owner === undefined ? {} : { owner }),
    method,
    target,
    headers: others,
    ...(typeof body === 'string' ? { body } : body === undefined ? {} : { body: toBase64(body), isBytes: true }),
    ...(isBatch ? { isBatch } : {}),
    paths,
    deleted,
  }
}

function toWrite(entry: Entry, ids: OperationIds): Write & { readonly operations: readonly Operation[] } {
  const { method, target, headers, body, isBytes, isBatch, paths, deleted } = entry
  const operation = new KeptOperation(entry.key, ids)
  return {
    get request() {
      return {
        method,
        target,
        headers: isBatch ? headers : { ...headers, 'idempotency-key': operation.key },
        ...(body === undefined ? {} : { body: isBytes ? fromBase64(body) : body }),
      }
    },
    paths,
    deleted,
    operations: [operation],
    ...(isBatch ? { check: checkAdditions } : {}),
  }
}

function inOrder(a: Entry, b: Entry): number {
  const [, , sequence, , madeMs] = a.key.split('.').map(Number)
  const [, , otherSequence, , otherMs] = b.key.split('.').map(Number)
  return madeMs! - otherMs! || sequence! - otherSequence!
}

/** An operation from the storage. Its key says which operations were settled when it was stored, and that stays true. */
class KeptOperation implements Operation {
  key: string
  readonly #ids: OperationIds

  constructor(key: string, ids: OperationIds) {
    this.key = key
    this.#ids = ids
  }

  get name(): string {
    return this.key.split('.').slice(1, 3).join('.')
  }

  settle(): void {}

  renew(): void {
    this.key = this.key.replace(/[0-9]+$/, `${this.#ids.nowMs()}`)
  }
}

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), character => character.charCodeAt(0))
}
