/**
 * The rows of a query piece by piece, as its reader takes them: each shard is read from the snapshot whose versions were
 * compared, and no faster than its rows are wanted. Only the few rows of each shard that have arrived and are not due yet are
 * held.
 */
import type { ServerSettings } from '@freshet/server/capabilities'
import type { PlacedPlan } from '../placement/placed-database.js'
import {
  type Cell,
  type CellType,
  type CursorOptions,
  RowMerger,
  type ShardCursor,
  type ShardSnapshot,
  streamedMerge,
  type Versions,
} from '../plan/index.js'
import type { Way } from './query-planner.js'
import { type Agreed, type AgreeOptions, leftMs, type StateAgreement } from './state-agreement.js'

export type Rows = readonly (readonly Cell[])[]

export interface StreamingOptions extends Pick<AgreeOptions<unknown>, 'floor' | 'deadlineMs'> {
  readonly settings: ServerSettings
}

/** Reads only from snapshots that have passed the comparison, and leaves none open on failure. */
export function streamingWay(
  agreement: StateAgreement,
  { floor, deadlineMs, settings }: StreamingOptions,
): Way<Agreed<ShardSnapshot>, RowStream | undefined> {
  return {
    find: async plan => {
      const opened: ShardSnapshot[] = []
      try {
        return await agreement.reach<ShardSnapshot>(plan, {
          floor,
          deadlineMs,
          ask: (places, snapshots) => openAll(plan, places, { deadlineMs, settings, snapshots, opened }),
          letGo: async (places, snapshots) => {
            await closeAll(places.map(place => snapshots[place]!))
            return places
          },
        })
      } catch (error) {
        await closeAll(opened)
        throw error
      }
    },
    finish: (plan, { answers, versions }) =>
      openStream(plan, answers, versions, { timeoutMs: settings.sqlMsMax, bytesMax: settings.sqlBytesMax }),
    drop: ({ answers }) => closeAll(answers),
  }
}

interface Opening {
  readonly deadlineMs: number
  readonly settings: ServerSettings
  readonly snapshots: ShardSnapshot[]
  /** All snapshots that were ever opened. */
  readonly opened: ShardSnapshot[]
}

/** Waits for all of them even if one fails: a snapshot that is opened after that would never be closed. */
async function openAll(
  { servers, tables }: PlacedPlan,
  places: readonly number[],
  { deadlineMs, settings, snapshots, opened }: Opening,
): Promise<void> {
  const request = { tables, timeoutMs: leftMs(deadlineMs), heldMsMax: settings.sqlStreamMsMax + settings.sqlMsMax }
  const results = await Promise.allSettled(
    places.map(async place => {
      const snapshot = await servers[place]!.snapshot(request)
      opened.push(snapshot)
      snapshots[place] = snapshot
    }),
  )
  const failed = results.find(result => result.status === 'rejected')
  if (failed) throw failed.reason
}

async function closeAll(snapshots: readonly ShardSnapshot[]): Promise<void> {
  await Promise.all(snapshots.map(snapshot => snapshot.close()))
}

async function openStream(
  { parts, merge, columns }: PlacedPlan,
  snapshots: readonly ShardSnapshot[],
  versions: Versions,
  options: CursorOptions,
): Promise<RowStream | undefined> {
  const streamed = streamedMerge(merge)
  if (streamed === undefined) {
    await closeAll(snapshots)
    return undefined
  }
  try {
    const cursors = await Promise.all(snapshots.map((each, i) => each.query(parts[i]!.statement, options)))
    const merger = new RowMerger(
      streamed,
      cursors.map(({ types }) => types),
    )
    const stream = new RowStream({ columns, versions, merger, cursors, snapshots })
    // An error in the first rows can still be the whole answer.
    await stream.fill()
    return stream
  } catch (error) {
    await closeAll(snapshots)
    throw error
  }
}

interface RowStreamParts {
  readonly columns: readonly string[]
  readonly versions: Versions
  readonly merger: RowMerger
  readonly cursors: readonly ShardCursor[]
  readonly snapshots: readonly ShardSnapshot[]
}

export class RowStream {
  readonly #parts: RowStreamParts
  #ready: Rows = []

  constructor(parts: RowStreamParts) {
    this.#parts = parts
  }

  get columns(): readonly string[] {
    return this.#parts.columns
  }

  get types(): readonly CellType[] {
    return this.#parts.merger.types
  }

  get versions(): Versions {
    return this.#parts.versions
  }

  /** Reads until some rows are ready, or there are no more. Throws SHARD_UNAVAILABLE, SQL_REFUSED, LIMIT_EXCEEDED. */
  async fill(): Promise<void> {
    const { merger, cursors } = this.#parts
    while (this.#ready.length === 0) {
      const place = merger.wants
      if (place === undefined) return
      merger.give(place, await cursors[place]!.next())
      this.#ready = merger.take()
    }
  }

  /** The next few rows; none if there are no more. One call at a time. Throws as `fill` does. */
  async next(): Promise<Rows> {
    await this.fill()
    const rows = this.#ready
    this.#ready = []
    return rows
  }

  /** Ends the transactions. May be called at any time; calls that wait for rows then fail. */
  close(): Promise<void> {
    return closeAll(this.#parts.snapshots)
  }
}
