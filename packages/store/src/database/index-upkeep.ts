/**
 * Builds indexes in the background, step by step, and removes the entries of dropped ones. Each step and the record of its
 * progress are one transaction: after a crash, any server continues from there; if two servers build at once, they take
 * turns.
 */
import { buildStep, unbuiltOf } from '@freshet/core/commit'
import type { Key } from '@freshet/core/store'
import type { FleetClock } from '../clock/fleet-clock.js'
import { UpkeepLoop } from '../commits/upkeep-loop.js'
import { folderEnd, keyRange } from '../reads/key-range.js'
import type { CommitQueue } from './commit-queue.js'
import type { Changes, Database, LockedState, Needs } from './database.js'
import { LockedBatch } from './locked-batch.js'

export interface IndexUpkeepOptions {
  readonly database: Pick<Database, 'transact' | 'unfinishedIndexes' | 'removeEntries'>
  readonly queue: CommitQueue
  readonly clock: Pick<FleetClock, 'nowMs'>
}

const NO_NEEDS: Needs = { keys: [], buckets: [], indexes: [], tags: [], clients: [], foreign: [] }
/**
 * How many objects are indexed, or entries removed, in one transaction: small enough that commits waiting behind it hardly
 * notice.
 */
export const STEP_OBJECTS = 500
/** Upkeep decides nothing about operations. */
const RETENTION = { retentionMs: 0 }

export class IndexUpkeep {
  readonly #options: IndexUpkeepOptions
  readonly #loop = new UpkeepLoop(() => this.#lookAfterAll())

  constructor(options: IndexUpkeepOptions) {
    this.#options = options
  }

  /** Checks whether there is something to do. */
  wake(): void {
    this.#loop.wake()
  }

  /** Resolves when no step is under way. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async #lookAfterAll(): Promise<void> {
    const { database } = this.#options
    const { buckets, dropped } = await database.unfinishedIndexes()
    for (const bucket of buckets) {
      while (!this.#loop.isStopped && (await this.#step([bucket], state => build(state, bucket))));
    }
    for (const index of dropped) {
      let removed = STEP_OBJECTS
      while (!this.#loop.isStopped && removed === STEP_OBJECTS)
        removed = await database.removeEntries(index, STEP_OBJECTS)
      if (!this.#loop.isStopped) await this.#step([], async state => withoutDropped(state, index))
    }
  }

  /** False if there was nothing to do. */
  async #step(indexes: readonly Key[], decide: (state: LockedState) => Promise<Changes | undefined>): Promise<boolean> {
    const { database, queue, clock } = this.#options
    let isDone = false
    await queue.between(() =>
      database.transact({ ...NO_NEEDS, indexes }, clock.nowMs(), async state => {
        const changes = await decide(state)
        isDone = changes !== undefined
        return changes
      }),
    )
    return isDone
  }
}

async function build(state: LockedState, bucket: Key): Promise<Changes | undefined> {
  const batch = new LockedBatch(state, RETENTION)
  const indexes = batch.indexesOf(bucket)
  const [first] = unbuiltOf(indexes)
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
  batch.build(bucket, buildStep(indexes, objects, { cursor, total }))
  return batch.finish()
}

function withoutDropped(state: LockedState, index: number): Changes | undefined {
  const { last, dropped } = state.head.numbers
  const changes = new LockedBatch(state, RETENTION).everything()
  return { ...changes, numbers: { last, dropped: dropped.filter(each => each !== index) } }
}
