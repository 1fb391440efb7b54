/**
 * The simulated store: its log, its clock, and the true history of every path, against which reads are judged.
 *
 * The store's clock stamps a commit first, and the commit becomes visible a little later, in order. The clock stops while no
 * server is up, and is slightly slow.
 */
import type { Key, LogEntry } from '@freshet/core/store'
import { bucketOfKey, type Path, type Position, pathOfKey } from '@freshet/protocol'
import type { EventQueue } from '../simulator/event-queue.js'

const CLOCK_RATE = 0.9995

export interface Commit extends LogEntry {
  /** Truth: the objects that did not exist before. */
  readonly created: readonly Key[]
  readonly visibleMs: number
}

interface Change {
  readonly position: Position
  readonly isAbsent: boolean
}

export interface State {
  readonly changedAt: Position
  readonly isAbsent: boolean
}

const NEVER: State = { changedAt: 0, isAbsent: true }

export class TrueHistory {
  /** The lifetime that servers promise now, visible to every process that reads the store. */
  lifetimeMs: number
  remembered: Uint8Array | undefined
  trimmedTo: Position = 0
  /** The wall clock's error, and whether the store's clock follows it. */
  wallErrorMs = 0
  clockFollowsWall = false
  /** All visible commits. */
  readonly log: Commit[] = []
  readonly #queue: EventQueue
  readonly #changes = new Map<Path, Change[]>()
  #stamped: Position = 0
  #lastVisibleMs = 0
  #clockMs = 1000
  #clockReadMs = 0
  #isRunning = true
  #wallMostMs = 0

  constructor(queue: EventQueue, lifetimeMs: number) {
    this.#queue = queue
    this.lifetimeMs = lifetimeMs
  }

  /** The last visible position. */
  get position(): Position {
    return this.log.at(-1)?.position ?? 0
  }

  nowMs(): number {
    const elapsedMs = this.#queue.nowMs - this.#clockReadMs
    this.#clockReadMs = this.#queue.nowMs
    if (this.#isRunning) this.#clockMs += elapsedMs * CLOCK_RATE
    if (!this.clockFollowsWall) return this.#clockMs
    this.#wallMostMs = Math.max(this.#wallMostMs, this.#queue.nowMs + this.wallErrorMs)
    return this.#wallMostMs
  }

  /** Reports whether any server is up. */
  setRunning(isRunning: boolean): void {
    this.nowMs()
    this.#isRunning = isRunning
  }

  /** Leaves out `gap` positions. `done` is called when the commit is visible, which is when it may be acknowledged. */
  commit(key: Key, isDelete: boolean, durationMs: number, gap: number, done: (position: Position) => void): void {
    this.#stamped += 1 + gap
    const position = this.#stamped
    const timeMs = this.nowMs()
    this.#lastVisibleMs = Math.max(this.#lastVisibleMs, this.#queue.nowMs + durationMs)
    this.#queue.at(this.#lastVisibleMs, () => {
      const created = this.#latest(pathOfKey(key)).isAbsent && !isDelete ? [key] : []
      this.log.push({ position, timeMs, keys: [key], created, visibleMs: this.#queue.nowMs, tags: [] })
      this.#note(pathOfKey(key), { position, isAbsent: isDelete })
      this.#note(pathOfKey(bucketOfKey(key)), { position, isAbsent: false })
      done(position)
    })
  }

  /** The state of the path as a read at exactly `position` sees it. */
  stateAt(path: Path, position: Position): State {
    const changes = this.#changes.get(path)
    const change = changes?.[lastIndex(changes, ({ position: at }) => at <= position)]
    return change ? { changedAt: change.position, isAbsent: change.isAbsent } : NEVER
  }

  state(path: Path): State {
    return this.#latest(path)
  }

  /** The last position visible at that time. */
  positionAt(timeMs: number): Position {
    return this.log[lastIndex(this.log, ({ visibleMs }) => visibleMs < timeMs)]?.position ?? 0
  }

  #latest(path: Path): State {
    const change = this.#changes.get(path)?.at(-1)
    return change ? { changedAt: change.position, isAbsent: change.isAbsent } : NEVER
  }

  #note(path: Path, change: Change): void {
    const changes = this.#changes.get(path)
    if (changes) changes.push(change)
    else this.#changes.set(path, [change])
  }
}

/** The index of the last matching item, where all matching items come first; -1 without a match. */
function lastIndex<Item>(items: readonly Item[], fulfils: (item: Item) => boolean): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (fulfils(items[middle]!)) low = middle + 1
    else high = middle
  }
  return low - 1
}
