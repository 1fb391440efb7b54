/**
 * Very many operations on the embedded store itself, without HTTP. Some are committed again, together with the first time or
 * later, even after the store was closed and reopened. Half of the ids have our own form, half are foreign. Operations are
 * derived from their numbers, so that only those that may be retried take memory; and the store forgets operations older than
 * its retention as it goes.
 */
import type { CommitResult } from '@freshet/core/store'
import { type EmbeddedStore, openEmbeddedStore } from '@freshet/engines/lmdb'
import type { Random } from '../harness/random.js'
import { COUNTERS, commitOf, counterOf, keyOf, RECENT, type Recent, unitsOf } from './numbered-operations.js'

export interface ManyLoad {
  /** A folder of its own. */
  readonly path: string
  readonly random: Random
  readonly operations: number
  /** The number of retries per new operation. */
  readonly retryShare: number
  readonly onProgress: (operations: number) => void
}

export interface ManyResult {
  readonly operations: number
  readonly retries: number
  readonly reopened: number
  /** Retries whose answer differs from the first answer, or is not marked as a replay. */
  readonly wrongAnswers: number
  readonly unitsAdded: number
  readonly unitsWrong: number
  readonly error: number
  readonly perSecond: number
  /** The store's memory and disk space for operations at the end. */
  readonly memoryBytes: number
  readonly diskBytes: number
  readonly rssBytesMax: number
}

const CHUNK = 2000
const STORE = { retentionMs: 60_000, forgetEvery: 500_000, openings: 5 }

export async function runMany(load: ManyLoad): Promise<ManyResult> {
  const { path, operations, onProgress } = load
  const recent: Recent = { positions: new Float64Array(RECENT), madeMs: new Float64Array(RECENT) }
  const open = () => openEmbeddedStore({ path, durability: 'relaxed', retentionMs: STORE.retentionMs })
  const reopenEvery = Math.ceil(operations / STORE.openings)
  const startedMs = performance.now()
  const sums = { retries: 0, wrongAnswers: 0, reopened: 0, rssBytesMax: 0 }
  let store = await open()
  try {
    for (let first = 0; first < operations; first += CHUNK) {
      const { retries, wrongAnswers } = await commitChunk(store, first, load, recent)
      sums.retries += retries
      sums.wrongAnswers += wrongAnswers
      onProgress(first)
      const after = first + CHUNK
      if (hasPassed(STORE.forgetEvery, first, after)) await forget(store)
      if (!hasPassed(reopenEvery, first, after) || after >= operations) continue
      sums.rssBytesMax = Math.max(sums.rssBytesMax, process.memoryUsage.rss())
      await store.close()
      store = await open()
      sums.reopened++
    }
    const seconds = (performance.now() - startedMs) / 1000
    const { memoryBytes, diskBytes } = await store.operationCounts()
    const rssBytesMax = Math.max(sums.rssBytesMax, process.memoryUsage.rss())
    const checked = await check(store, operations)
    return { operations, ...sums, ...checked, perSecond: operations / seconds, memoryBytes, diskBytes, rssBytesMax }
  } finally {
    await store.close()
  }
}

function hasPassed(every: number, before: number, after: number): boolean {
  return Math.floor(before / every) !== Math.floor(after / every)
}

async function forget(store: EmbeddedStore): Promise<void> {
  await store.forgetOperations()
  await store.trim(await store.position())
}

/** New operations, mixed with retries: some of an operation under way, some of one that was answered before. */
async function commitChunk(
  store: EmbeddedStore,
  first: number,
  { operations, random, retryShare }: ManyLoad,
  recent: Recent,
): Promise<{ retries: number; wrongAnswers: number }> {
  const end = Math.min(first + CHUNK, operations)
  const nowMs = store.nowMs()
  const fresh: Promise<CommitResult>[] = []
  const again: { number: number; answer: Promise<CommitResult> }[] = []
  for (let number = first; number < end; number++) {
    recent.madeMs[number % RECENT] = nowMs
    fresh.push(store.commit(commitOf(number, recent)))
    if (random.float() >= retryShare) continue
    const oldest = Math.max(0, end - RECENT)
    const retried = random.float() < 0.3 ? number : oldest + random.below(number - oldest + 1)
    again.push({ number: retried, answer: store.commit(commitOf(retried, recent)) })
  }
  for (const [i, answer] of (await Promise.all(fresh)).entries()) {
    if (!answer.committed || answer.replayed)
      throw new Error(`The store did not apply operation ${first + i}: ${JSON.stringify(answer)}`)
    recent.positions[(first + i) % RECENT] = answer.position
  }
  let wrongAnswers = 0
  for (const { number, answer } of again) {
    const given = await answer
    const isRight = given.committed && given.replayed && given.position === recent.positions[number % RECENT]
    if (!isRight) wrongAnswers++
  }
  return { retries: again.length, wrongAnswers }
}

async function check(store: EmbeddedStore, operations: number) {
  const expected = new Float64Array(COUNTERS)
  let unitsAdded = 0
  for (let number = 0; number < operations; number++) {
    expected[counterOf(number)]! += unitsOf(number)
    unitsAdded += unitsOf(number)
  }
  const { value } = await store.getMany(Array.from({ length: COUNTERS }, (_, i) => keyOf(i)))
  const found = value.map(stored => (stored ? Number(Buffer.from(stored.body).toString()) : 0))
  const unitsWrong = found.reduce((sum, units, i) => sum + Math.abs(units - expected[i]!), 0)
  return { unitsAdded, unitsWrong, error: unitsWrong / unitsAdded }
}
