/**
 * Clients run transactions over a few lists, reading through a real cache, while the server is killed now and then. Afterwards
 * the history is checked for every anomaly that serialisability rules out. Each attempt is its own transaction with its own
 * numbers, so that nothing from a failed attempt can be mistaken for another's.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { connect, type Database, type Fetch, FreshetError, type ReadMode, type Transaction } from '@freshet/client'
import type { Random } from '../harness/random.js'
import {
  type Anomaly,
  checkListAppends,
  groupOf,
  type Operation,
  type RecordedTransaction,
} from './list-append-checker.js'

export interface TransactionLoad {
  readonly url: string
  readonly fetch: Fetch
  readonly random: Random
  readonly clients: number
  /** The run goes on until this many transactions have committed. */
  readonly commits: number
  readonly lists: number
  readonly read: ReadMode
  /** Refused clients take turns. */
  readonly lease?: boolean
  /** The share of operations that are queries for all lists of a group; default 0. */
  readonly queryShare?: number
  /** `kill -9` of the server, and a new start, at this interval; undefined for none. */
  readonly faults?: { readonly intervalMs: number; readonly restart: () => Promise<void> }
  readonly onProgress?: (commits: number) => void
}

export interface TransactionResult {
  readonly committed: number
  readonly conflicts: number
  /** Commits whose answer was lost: the outcome is unknown. */
  readonly unknown: number
  readonly restarts: number
  readonly anomalies: readonly Anomaly[]
  readonly seconds: number
}

interface Numbers {
  readonly group: string
  readonly values: readonly number[]
}

const BUCKET = 'load/lists'
const OPERATIONS_MAX = 4
const TIMEOUT_MS = 20_000
const GROUPS = 3
const INDEXES = [{ name: 'by-group', fields: ['group'] }]
/** A list is replaced with a new one at this length, so that lists do not grow without end. */
const LENGTH_MAX = 60

export async function runTransactions(load: TransactionLoad): Promise<TransactionResult> {
  const beganMs = performance.now()
  const recorder = new Recorder(load)
  if (load.queryShare) await declareIndexes(load)
  let isOver = false
  const clients = Array.from({ length: load.clients }, (_, i) => runClient(load, recorder, load.random.fork(`${i}`)))
  const killing = load.faults === undefined ? Promise.resolve(0) : cause(load.faults, () => isOver)
  try {
    await Promise.all(clients)
  } finally {
    isOver = true
  }
  const restarts = await killing
  const finalLists = await readAll(load, recorder.names)
  const { transactions } = recorder
  const count = (outcome: RecordedTransaction['outcome']) =>
    transactions.filter(each => each.outcome === outcome).length
  return {
    committed: count('committed'),
    conflicts: count('aborted'),
    unknown: count('unknown'),
    restarts,
    anomalies: checkListAppends(transactions, finalLists),
    seconds: (performance.now() - beganMs) / 1000,
  }
}

class Recorder {
  readonly #load: TransactionLoad
  readonly transactions: RecordedTransaction[] = []
  readonly names = new Set<string>()
  /** The current generation of each list's name. */
  readonly #generations = new Map<number, number>()
  #nextId = 1
  #nextValue = 1
  #committed = 0

  constructor(load: TransactionLoad) {
    this.#load = load
  }

  get isOver(): boolean {
    return this.#committed >= this.#load.commits
  }

  nextValue(): number {
    return this.#nextValue++
  }

  pickList(random: Random): string {
    const list = random.below(this.#load.lists)
    const name = `g${list % GROUPS}.${list}-${this.#generations.get(list) ?? 0}`
    this.names.add(name)
    return name
  }

  retire(name: string): void {
    const [list = 0, generation = 0] = name
      .slice(name.indexOf('.') + 1)
      .split('-')
      .map(Number)
    if (generation === (this.#generations.get(list) ?? 0)) this.#generations.set(list, generation + 1)
  }

  add(outcome: RecordedTransaction['outcome'], operations: readonly Operation[]): void {
    this.transactions.push({ id: this.#nextId++, outcome, operations })
    if (outcome === 'committed') this.#committed++
    this.#load.onProgress?.(this.#committed)
  }
}

async function runClient(load: TransactionLoad, recorder: Recorder, random: Random): Promise<void> {
  let db = await connectPatiently(load)
  while (!recorder.isOver) {
    try {
      await (load.lease ? transactInTurn : transact)(db, load, recorder, random)
    } catch (error) {
      if (!(error instanceof FreshetError)) throw error
      // A read that got no answer: nothing was written.
      await delay(random.below(50))
    }
    // New sessions now and then, and sessions that were handed on.
    if (random.float() < 0.002) {
      const { token } = db.session
      db.close()
      db = await connectPatiently(load, token)
    }
  }
  db.close()
}

async function transact(db: Database, load: TransactionLoad, recorder: Recorder, random: Random): Promise<void> {
  const operations: Operation[] = []
  const tx = await db.begin({ read: load.read, timeoutMs: TIMEOUT_MS })
  await work(tx, operations, recorder, random, load.queryShare ?? 0)
  await commit(operations, recorder, () => tx.commit())
}

/** A second call of the work means that the attempt before was refused. */
async function transactInTurn(
  db: Database,
  { read, queryShare = 0 }: TransactionLoad,
  recorder: Recorder,
  random: Random,
): Promise<void> {
  let operations: Operation[] = []
  let isWorkDone = false
  // Each attempt works on the same lists.
  const label = `${random.below(2 ** 31)}`
  const attempt = async (tx: Transaction) => {
    if (isWorkDone) recorder.add('aborted', operations)
    isWorkDone = false
    operations = []
    await work(tx, operations, recorder, random.fork(label), queryShare)
    isWorkDone = true
  }
  try {
    await db.transaction(attempt, { read, lease: true, timeoutMs: TIMEOUT_MS })
    recorder.add('committed', operations)
  } catch (error) {
    if (isWorkDone) recorder.add(isConflict(error) ? 'aborted' : 'unknown', operations)
    throw error
  }
}

async function declareIndexes(load: TransactionLoad): Promise<void> {
  const db = await connectPatiently(load)
  await db.bucket(BUCKET).configure({ indexes: INDEXES })
  db.close()
}

async function work(
  tx: Transaction,
  operations: Operation[],
  recorder: Recorder,
  random: Random,
  queryShare: number,
): Promise<void> {
  const lists = tx.bucket<Numbers>(BUCKET)
  for (let left = 1 + random.below(OPERATIONS_MAX); left > 0; left--) {
    if (queryShare > 0 && random.float() < queryShare) {
      const group = `g${random.below(GROUPS)}`
      const found = new Map<string, readonly number[]>()
      for await (const { id, values } of lists.queryAll({ where: { group } })) found.set(id, values)
      operations.push({ kind: 'query', group, found })
      continue
    }
    const key = recorder.pickList(random)
    const values = (await lists.get(key))?.values ?? []
    operations.push({ kind: 'read', key, values })
    if (random.float() < 0.5) continue
    if (values.length >= LENGTH_MAX) {
      recorder.retire(key)
      continue
    }
    const value = recorder.nextValue()
    lists.put(key, { group: groupOf(key), values: [...values, value] })
    operations.push({ kind: 'append', key, value })
  }
}

async function commit(
  operations: readonly Operation[],
  recorder: Recorder,
  end: () => Promise<unknown>,
): Promise<void> {
  try {
    await end()
    recorder.add('committed', operations)
  } catch (error) {
    recorder.add(isConflict(error) ? 'aborted' : 'unknown', operations)
    if (!isConflict(error)) throw error
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof FreshetError && error.code === 'COMMIT_CONFLICT'
}

async function cause(
  { intervalMs, restart }: NonNullable<TransactionLoad['faults']>,
  isOver: () => boolean,
): Promise<number> {
  let restarts = 0
  for (;;) {
    await delay(intervalMs)
    if (isOver()) return restarts
    await restart()
    restarts++
  }
}

async function readAll(load: TransactionLoad, names: ReadonlySet<string>): Promise<Map<string, readonly number[]>> {
  const db = await connectPatiently(load)
  const ids = [...names]
  const found = await db.bucket<{ values: number[] }>(BUCKET).getMany(ids, { read: 'current' })
  db.close()
  return new Map(ids.map((id, i) => [id, found[i]?.values ?? []]))
}

/** Retries, because the server may be down. */
async function connectPatiently({ url, fetch }: TransactionLoad, token?: string): Promise<Database> {
  const deadlineMs = performance.now() + 60_000
  for (;;) {
    try {
      return await connect(url, { fetch, staleness: 200, ...(token === undefined ? {} : { token }) })
    } catch (error) {
      if (performance.now() > deadlineMs) throw error
      await delay(50)
    }
  }
}
