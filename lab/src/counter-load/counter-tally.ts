/** What clients of counters have sent, had acknowledged and read, and the outcome. */
import { sumOf } from '../harness/sum-of.js'
import type { CountingRequest } from './counting-client.js'
import type { FateCounts } from './unreliable-network.js'

export interface CounterResult extends FateCounts {
  readonly operations: number
  readonly requests: number
  /** How many of these were resent. */
  readonly retries: number
  /** Answers that the server marked as replays of an earlier answer. */
  readonly replays: number
  readonly kills: number
  /** The sum of all additions, regardless of sign. */
  readonly unitsAdded: number
  readonly unitsTooMuch: number
  readonly unitsTooLittle: number
  /** Operations that got the answer of another operation. */
  readonly sharedAnswers: number
  /** Reads of counters during the run. */
  readonly reads: number
  /** Reads that missed something acknowledged before, or that showed more than was sent. */
  readonly wrongReads: number
  /** How far the counters are off, as a share of all additions. */
  readonly error: number
}

/** For one counter, by sign: what was sent for the first time, and how much of that was acknowledged. */
class Sums {
  readonly begun = { plus: 0, minus: 0 }
  readonly acknowledged = { plus: 0, minus: 0 }

  get expected(): number {
    return this.acknowledged.plus + this.acknowledged.minus
  }
}

export class CounterTally {
  readonly counters: readonly Sums[]
  readonly versions: Set<number> = new Set()
  begun = 0
  requests = 0
  retries = 0
  replays = 0
  unitsAdded = 0
  sharedAnswers = 0
  operations = 0
  reads = 0
  wrongReads = 0

  constructor(counters: number) {
    this.counters = Array.from({ length: counters }, () => new Sums())
  }

  begin({ steps, operations }: CountingRequest): void {
    this.begun += operations
    for (const { counter, units } of steps) this.counters[counter]!.begun[units > 0 ? 'plus' : 'minus'] += units
  }

  acknowledge({ steps, operations }: CountingRequest, versions: readonly number[]): void {
    this.operations += operations
    for (const { counter, units } of steps) {
      this.counters[counter]!.acknowledged[units > 0 ? 'plus' : 'minus'] += units
      this.unitsAdded += Math.abs(units)
    }
    for (const version of versions) {
      if (this.versions.has(version)) this.sharedAnswers++
      this.versions.add(version)
    }
  }

  /** Any part of what was under way may be in the answer. */
  async read(counter: number, read: () => Promise<number>): Promise<void> {
    const { begun, acknowledged, expected } = this.counters[counter]!
    const { plus, minus } = acknowledged
    const found = await read()
    this.reads++
    if (found < expected + (begun.minus - minus) || found > expected + (begun.plus - plus)) this.wrongReads++
  }

  /** `found`: the final values of the counters. */
  result(fates: FateCounts, kills: number, found: readonly number[]): CounterResult {
    const { operations, requests, retries, replays, unitsAdded, sharedAnswers, reads, wrongReads } = this
    const excess = found.map((units, counter) => units - this.counters[counter]!.expected)
    const unitsTooMuch = sumOf(excess, units => Math.max(0, units))
    const unitsTooLittle = sumOf(excess, units => Math.max(0, -units))
    return {
      ...{ operations, requests, retries, replays, ...fates, kills },
      ...{ unitsAdded, unitsTooMuch, unitsTooLittle, sharedAnswers, reads, wrongReads },
      error: (unitsTooMuch + unitsTooLittle) / unitsAdded,
    }
  }
}
