/**
 * One direction of one connection: chunks go in, and come out later, unchanged and in the same order. It never looks into them,
 * and holds at most a window of them: a reader that does not read stops the writer, as without the delay.
 */
import type { Socket } from 'node:net'
import { type Conditions, lossOf, roundTripMs } from './conditions.js'
import type { Pacer } from './pacer.js'

export interface LineOptions {
  readonly from: Socket
  readonly to: Socket
  readonly pacer: Pacer
  readonly conditions: () => Conditions
  /** From 0 to 1. */
  readonly random: () => number
  /** True while nothing gets through. */
  readonly isCut: () => boolean
  /** How many bytes may be in transit at once. */
  readonly windowBytes: number
  /** Called for every incoming chunk; returns whether the chunk passes, or the connection stops. */
  readonly onChunk: (bytes: number) => 'pass' | 'stop'
}

interface Parcel {
  /** Undefined for the end of the stream. */
  readonly chunk: Buffer | undefined
  readonly dueMs: number
}

export class DelayLine {
  readonly #options: LineOptions
  #parcels: Parcel[] = []
  #underWayBytes = 0
  /** A chunk is never due before an earlier one. */
  #lastDueMs: number
  #earliestMs = 0
  #timer: NodeJS.Timeout | undefined
  #isBlocked = false
  #isStopped = false

  /** `openMs`: nothing goes in before this time, since the connection is not open yet. */
  constructor(options: LineOptions, openMs: number) {
    this.#options = options
    this.#lastDueMs = openMs + options.conditions().delayMs
    const { from, to } = options
    from.on('data', chunk => this.#take(chunk as Buffer))
    from.on('end', () => this.#add(undefined))
    to.on('drain', () => this.#unblock())
  }

  /** The link works again: chunks in transit are resent. */
  resume(nowMs: number): void {
    this.#earliestMs = nowMs + this.#options.conditions().delayMs
    this.#deliver()
  }

  /** Chunks in transit are lost, and no more are accepted. */
  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#parcels = []
    this.#options.from.pause()
  }

  #take(chunk: Buffer): void {
    if (this.#isStopped || this.#options.onChunk(chunk.length) === 'stop') return
    this.#underWayBytes += chunk.length
    if (this.#underWayBytes >= this.#options.windowBytes) this.#options.from.pause()
    this.#add(chunk)
  }

  #add(chunk: Buffer | undefined): void {
    if (this.#isStopped) return
    this.#lastDueMs = Math.max(this.#lastDueMs, this.#arrivalMs(chunk?.length ?? 0))
    this.#parcels.push({ chunk, dueMs: this.#lastDueMs })
    if (this.#parcels.length === 1) this.#deliver()
  }

  #arrivalMs(bytes: number): number {
    const { pacer, random, conditions } = this.#options
    const now = conditions()
    const sentMs = pacer.send(performance.now(), bytes, now.bytesPerSecond)
    const lateMs = random() < lossOf(bytes, now) ? roundTripMs(now) : 0
    return sentMs + now.delayMs + now.jitterMs * random() + lateMs
  }

  #deliver(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#isBlocked || this.#isStopped || this.#options.isCut()) return
    const nowMs = performance.now()
    let due = 0
    while (due < this.#parcels.length && this.#dueMs(due) <= nowMs) due++
    const arrived = this.#parcels.splice(0, due)
    if (arrived.length > 0) this.#write(arrived)
    if (this.#parcels.length === 0 || this.#isBlocked) return
    // Timers may run a fraction of a millisecond early. Then this is called again.
    this.#timer = setTimeout(() => this.#deliver(), Math.max(1, Math.ceil(this.#dueMs(0) - nowMs)))
  }

  #dueMs(index: number): number {
    return Math.max(this.#parcels[index]!.dueMs, this.#earliestMs)
  }

  #write(arrived: readonly Parcel[]): void {
    const { from, to, windowBytes } = this.#options
    to.cork()
    for (const { chunk } of arrived) {
      if (chunk === undefined) to.end()
      else {
        this.#underWayBytes -= chunk.length
        if (!to.write(chunk)) this.#isBlocked = true
      }
    }
    to.uncork()
    if (!this.#isBlocked && this.#underWayBytes < windowBytes) from.resume()
  }

  #unblock(): void {
    if (!this.#isBlocked) return
    this.#isBlocked = false
    if (this.#underWayBytes < this.#options.windowBytes) this.#options.from.resume()
    this.#deliver()
  }
}
