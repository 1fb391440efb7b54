/**
 * Decides what to purge from one cache, and when. The log is the queue: it is durable, ordered and already there. This class
 * holds only how far two passes over it have got, and the targets that they have read and not purged yet, each once.
 *
 *     the log   ....|.............|..............|.....|......   head
 *                   twice:        repeats        once: first pass
 *                   settled       read to        settled, read to
 *
 * - The **first pass** purges every change as soon as it is read.
 * - The **second pass** purges it again when no older answer can still be on its way (`repeat-schedule.ts`).
 *   The cursor has both settled positions, and after a restart each pass goes on from its own. So a restart, or another server
 *   that takes over, loses no purge, and begins with the changes that no cache has been sent: those are the copies that are
 *   certainly outdated. If a cache was down until both passes wait for the same target, it is purged once, late enough for both.
 *
 * Memory is bounded: a pass that has `targetsMax` targets waiting reads no further. A cache that can purge everything then
 * gets one such purge instead of the waiting targets and the rest of the log. Any other cache is purged bit by bit, as fast
 * as it goes. If the log is trimmed meanwhile, nothing is lost: it is trimmed only of changes older than any living copy, so
 * every copy that a purge would have removed has expired.
 *
 * One batch is under way at a time. It is sent again unchanged, under the same reference, until it succeeds: a service
 * that knows the reference need not do it twice. Changes that came since are in later batches, never in it.
 *
 * Times are from any clock that does not jump, except the times of changes, which are from the store's clock.
 */

import type { Position } from '@freshet/protocol'
import type { LogEntry } from '../../store/index.js'
import { PurgeLane } from './purge-lane.js'
import { EVERYTHING, type PurgeTarget } from './purge-targets.js'
import { RepeatSchedule } from './repeat-schedule.js'

/** Up to where every change was purged, and up to where it was purged again. */
export interface PurgeCursor {
  readonly once: Position
  readonly twice: Position
}

export interface PurgeQueueOptions {
  /** Where to read the log from: the cursor that was remembered last, or the beginning of the log. */
  readonly cursor: PurgeCursor
  /** At least how long ago everything up to `once` was committed. */
  readonly cursorAgeMs: number
  readonly nowMs: number
  /** The longest time from a change to the arrival of an answer that was read before it. */
  readonly repeatAfterMs: number
  /** How many targets may wait in either pass; one commit may exceed it. */
  readonly targetsMax: number
  /** How many targets are sent at once. */
  readonly batchMax: number
  /** The least time between the beginnings of two batches. */
  readonly intervalMs: number
  /** The least time between two writes of the cursor. */
  readonly cursorIntervalMs: number
  readonly canPurgeEverything: boolean
  readonly backOff: { readonly firstMs: number; readonly mostMs: number }
  /** The beginning of every reference; unique to this run. */
  readonly referencePrefix: string
}

export interface PurgeBatch {
  /** Either EVERYTHING alone, or paths. */
  readonly targets: readonly PurgeTarget[]
  /** The same when the same batch is sent again; no other batch has it. */
  readonly reference: string
  /** How many of the targets are purged for the second time. */
  readonly repeats: number
  /** How far the log had been read: the server answers from no earlier state from now on. */
  readonly readTo: Position
}

export type Pass = 'first' | 'second'

export type PurgeStep =
  | { readonly kind: 'read'; readonly pass: Pass; readonly after: Position; readonly upTo: Position }
  | { readonly kind: 'send'; readonly batch: PurgeBatch }
  | { readonly kind: 'remember'; readonly cursor: PurgeCursor }
  /** Until that time, or until there is more in the log; without a time, only the latter. */
  | { readonly kind: 'wait'; readonly untilMs?: number }

/** Whether a state that operators should know of begins or ends. */
export type StateChange = 'down' | 'up' | undefined

/** A connection may break once; a cache that fails twice in a row is down. */
const FAILURES_WHEN_DOWN = 2

export class PurgeQueue {
  readonly #options: PurgeQueueOptions
  readonly #lanes: Readonly<Record<Pass, PurgeLane>>
  readonly #schedule: RepeatSchedule
  #batch: PurgeBatch | undefined
  #batches = 0
  #failures = 0
  #retryAtMs = 0
  #sentMs = Number.NEGATIVE_INFINITY
  #remembered: { readonly cursor: PurgeCursor; readonly nowMs: number }

  constructor(options: PurgeQueueOptions) {
    this.#options = options
    const { cursor, cursorAgeMs, nowMs, repeatAfterMs } = options
    this.#lanes = { first: new PurgeLane(cursor.once), second: new PurgeLane(cursor.twice) }
    this.#schedule = new RepeatSchedule(repeatAfterMs, cursor.twice)
    if (cursor.once > cursor.twice) this.#schedule.add(cursor.once, nowMs - cursorAgeMs)
    this.#remembered = { cursor, nowMs }
  }

  /** How many targets wait or are under way. */
  get size(): number {
    return this.#lanes.first.size + this.#lanes.second.size + (this.#batch?.targets.length ?? 0)
  }

  get isDown(): boolean {
    return this.#failures >= FAILURES_WHEN_DOWN
  }

  /** Where a restart may begin. */
  get cursor(): PurgeCursor {
    const { first, second } = this.#lanes
    return { once: Math.max(first.settled, second.settled), twice: second.settled }
  }

  /** How far the first pass is behind, and when the oldest change that it has not purged was made. */
  lag(head: Position): { readonly positions: number; readonly sinceMs: number | undefined } {
    const { settled, oldest } = this.#lanes.first
    return { positions: Math.max(0, head - settled), sinceMs: oldest?.timeMs }
  }

  /** What to do now; `head` is the log's last position. The caller must do it, and report it, before the next call. */
  next(nowMs: number, head: Position): PurgeStep {
    const isCursorDue = nowMs >= this.#remembered.nowMs + this.#options.cursorIntervalMs
    if (isCursorDue && this.#hasAdvanced) return { kind: 'remember', cursor: this.cursor }
    if (this.#batch !== undefined) {
      return nowMs >= this.#retryAtMs ? this.#send(nowMs) : this.#wait(this.#retryAtMs)
    }
    const read = this.#read('first', head) ?? this.#read('second', this.#schedule.dueTo(nowMs))
    if (read !== undefined) return read
    if (this.#lanes.first.size + this.#lanes.second.size === 0) return this.#wait(this.#schedule.nextMs)
    const mayMs = this.#sentMs + this.#options.intervalMs
    if (nowMs < mayMs) return this.#wait(Math.min(mayMs, this.#schedule.nextMs ?? mayMs))
    this.#batch = this.#load()
    return this.#send(nowMs)
  }

  /**
   * Takes the part of the log that a `read` asked for. Returns whether everything will be purged, because it was more than fits,
   * or because `concernsAll` says that any copy may be one that no reader should have.
   */
  took(step: PurgeStep & { kind: 'read' }, entries: readonly LogEntry[], nowMs: number, concernsAll = false): boolean {
    const { targetsMax, canPurgeEverything } = this.#options
    const lane = this.#lanes[step.pass]
    lane.add(entries, step.upTo, targetsMax)
    const isTooMuch = lane.size >= targetsMax && lane.position < step.upTo
    const widens = canPurgeEverything && (isTooMuch || concernsAll)
    if (widens) lane.widen(step.upTo, entries[0]?.timeMs ?? 0)
    if (step.pass === 'first') this.#schedule.add(lane.position, nowMs)
    return widens
  }

  /** The log that a `read` asked for begins only after `trimmedTo`. Returns whether everything will be purged. */
  trimmed(step: PurgeStep & { kind: 'read' }, trimmedTo: Position, storeMs: number, nowMs: number): boolean {
    const lane = this.#lanes[step.pass]
    if (this.#options.canPurgeEverything) lane.widen(Math.max(trimmedTo, step.upTo), storeMs)
    else lane.position = Math.max(trimmedTo, lane.position)
    if (step.pass === 'first') this.#schedule.add(lane.position, nowMs)
    return this.#options.canPurgeEverything
  }

  /** The batch was purged. */
  sent(): StateChange {
    const wasDown = this.isDown
    this.#batch = undefined
    this.#failures = 0
    this.#lanes.first.arrive()
    this.#lanes.second.arrive()
    return wasDown ? 'up' : undefined
  }

  /** The batch may not have been purged. `random` is from 0 to 1; `retryAfterMs` is what the cache asked for. */
  failed(nowMs: number, random: number, retryAfterMs = 0): StateChange {
    const { firstMs, mostMs } = this.#options.backOff
    const backOffMs = Math.min(mostMs, firstMs * 2 ** Math.min(this.#failures, 30))
    // At least half of it, so that it does grow; the rest at random, so that caches do not all come back at once.
    this.#retryAtMs = nowMs + Math.max(retryAfterMs, backOffMs * (0.5 + random / 2))
    this.#failures++
    return this.#failures === FAILURES_WHEN_DOWN ? 'down' : undefined
  }

  /** The cursor is on disk. */
  remembered(cursor: PurgeCursor, nowMs: number): void {
    this.#remembered = { cursor, nowMs }
  }

  get #hasAdvanced(): boolean {
    const { cursor } = this.#remembered
    return this.cursor.once > cursor.once || this.cursor.twice > cursor.twice
  }

  #read(pass: Pass, upTo: Position): PurgeStep | undefined {
    const { position: after, size } = this.#lanes[pass]
    return after < upTo && size < this.#options.targetsMax ? { kind: 'read', pass, after, upTo } : undefined
  }

  #send(nowMs: number): PurgeStep {
    this.#sentMs = nowMs
    return { kind: 'send', batch: this.#batch! }
  }

  #wait(untilMs: number | undefined): PurgeStep {
    const cursorMs = this.#hasAdvanced ? this.#remembered.nowMs + this.#options.cursorIntervalMs : undefined
    const times = [untilMs, cursorMs].filter(time => time !== undefined)
    return times.length === 0 ? { kind: 'wait' } : { kind: 'wait', untilMs: Math.min(...times) }
  }

  /** Repeats get up to half of a batch before first purges get the rest, so that neither waits for ever. */
  #load(): PurgeBatch {
    const { first, second } = this.#lanes
    const targets = new Set<PurgeTarget>()
    fill(targets, second, Math.ceil(this.#options.batchMax / 2))
    fill(targets, first, this.#options.batchMax)
    fill(targets, second, this.#options.batchMax)
    const isWide = [first, second].some(lane => lane.targets().next().value === EVERYTHING)
    const loaded = isWide ? [EVERYTHING] : [...targets]
    const waiting = second.size
    first.depart(loaded)
    second.depart(loaded)
    const reference = `${this.#options.referencePrefix}-${++this.#batches}`
    return { targets: loaded, reference, repeats: waiting - second.size, readTo: first.position }
  }
}

function fill(targets: Set<PurgeTarget>, lane: PurgeLane, sizeMax: number): void {
  for (const target of lane.targets()) {
    if (targets.size >= sizeMax) return
    targets.add(target)
  }
}
