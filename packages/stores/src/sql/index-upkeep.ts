/**
 * Builds indexes in the background, step by step, and removes what is left of dropped ones. How far it has come is in the same
 * transaction as what it has done: after a crash, any server goes on from there; and if two do at once, they take turns.
 */
import type { Key } from '@freshet/core/store'
import { STEP_OBJECTS } from '../embedded/indexes/index-changes.js'
import type { CommitQueue } from './commit-queue.js'
import type { FleetClock } from './fleet-clock.js'
import { folderEnd, keyRange } from './key-range.js'
import { SqlBatch } from './sql-batch.js'
import type { Changes, LockedState, Needs, SqlEngine } from './sql-engine.js'

export interface IndexUpkeepOptions {
  readonly engine: SqlEngine
  readonly queue: CommitQueue
  readonly clock: FleetClock
}

const NO_NEEDS: Needs = { keys: [], buckets: [], indexes: [], tags: [], clients: [], foreign: [] }
/** Nothing of operations is decided here. */
const RETENTION = { retentionMs: 0 }

export class IndexUpkeep {
  readonly #options: IndexUpkeepOptions
  #running: Promise<void> | undefined
  #isAsked = false
  #isStopped = false

  constructor(options: IndexUpkeepOptions) {
    this.#options = options
  }

  /** Looks whether there is something to do. */
  wake(): void {
    if (this.#isStopped) return
    this.#isAsked = true
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
      // Somebody may have asked between the last look and this.
      if (this.#isAsked) this.wake()
    })
  }

  /** Resolves when no step is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #run(): Promise<void> {
    while (this.#isAsked && !this.#isStopped) {
      this.#isAsked = false
      try {
        await this.#lookAfterAll()
      } catch {
        // A database that is gone tells whoever uses it. The store wakes this again, again and again.
      }
    }
  }

  async #lookAfterAll(): Promise<void> {
    const { engine } = this.#options
    const { buckets, dropped } = await engine.unfinishedIndexes()
    for (const bucket of buckets) {
      while (!this.#isStopped && (await this.#step([bucket], state => build(state, bucket))));
    }
    for (const index of dropped) {
      let removed = STEP_OBJECTS
      while (!this.#isStopped && removed === STEP_OBJECTS) removed = await engine.removeEntries(index, STEP_OBJECTS)
      if (!this.#isStopped) await this.#step([], async state => withoutDropped(state, index))
    }
  }

  /** False if there was nothing to do. */
  async #step(indexes: readonly Key[], decide: (state: LockedState) => Promise<Changes | undefined>): Promise<boolean> {
    const { engine, queue, clock } = this.#options
    let isDone = false
    await queue.between(() =>
      engine.transact({ ...NO_NEEDS, indexes }, clock.nowMs(), async state => {
        const changes = await decide(state)
        isDone = changes !== undefined
        return changes
      }),
    )
    return isDone
  }
}

async function build(state: LockedState, bucket: Key): Promise<Changes | undefined> {
  const batch = new SqlBatch(state, RETENTION)
  const indexes = batch.indexes.unbuilt(bucket)
  const [first] = indexes
  if (first === undefined) return undefined
  const folder = `${bucket}/`
  const total = first.total || (await state.count(folder, folderEnd(folder)))
  const low = { key: folder + (first.cursor ?? ''), isIncluded: first.cursor === undefined }
  const { values } = await state.page(
    bucket,
    keyRange(low, { key: folderEnd(folder), isIncluded: false }, STEP_OBJECTS),
  )
  const cursor = values.length < STEP_OBJECTS ? undefined : values.at(-1)!.key.slice(folder.length)
  const objects = values.map(value => [value.key.slice(folder.length), value] as const)
  batch.indexes.build(bucket, indexes, objects, { cursor, total })
  return batch.finish()
}

function withoutDropped(state: LockedState, index: number): Changes | undefined {
  const { last, dropped } = state.head.numbers
  const changes = new SqlBatch(state, RETENTION).everything()
  return { ...changes, numbers: { last, dropped: dropped.filter(each => each !== index) } }
}
