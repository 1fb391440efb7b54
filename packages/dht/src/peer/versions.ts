/**
 * BRK, the paper's baseline, after the BRICKS project (Knezevic, Wombacher, Risse 2005): every replica has a version that its
 * writer makes up, one more than the highest it found. A read reads all replicas and takes the highest version.
 *
 * Two writers at once make up the same version; then nothing decides which of them is current, and readers differ. So BRK is
 * here only as the baseline that others are measured against.
 */
import type { Then } from './calls.js'
import type { Copy } from './messages.js'
import type { Replication } from './replication.js'
import { compareTimestamps, NO_TIMESTAMP } from './timestamp.js'
import type { InsertOutcome, RetrieveOutcome } from './updates.js'

export class Versions {
  readonly #replication: Replication
  /** How many replicas are read at once. The paper's response times are those of 1. */
  readonly #atOnce: number

  constructor(replication: Replication, atOnce: number) {
    this.#replication = replication
    this.#atOnce = atOnce
  }

  insert(key: string, value: unknown, nowMs: number, then: Then<InsertOutcome>): void {
    const meter = { messages: 0 }
    this.#replication.read(key, { atOnce: this.#replication.replicas, meter }, nowMs, (copies, readMs) => {
      const stamp = { tenure: 0, count: latestOf(copies).stamp.count + 1 }
      this.#replication.write(key, { stamp, value }, true, meter, readMs, (stored, endMs) =>
        then({ state: stored > 0 ? 'committed' : 'unknown', stamp, messages: meter.messages }, endMs),
      )
    })
  }

  /** Never certain: a replica that was not reached may be later, and copies with the same version may differ. */
  retrieve(key: string, nowMs: number, then: Then<RetrieveOutcome>): void {
    const meter = { messages: 0 }
    this.#replication.read(key, { atOnce: this.#atOnce, meter }, nowMs, (copies, endMs) =>
      then({ ...latestOf(copies), isCurrent: false, replicas: copies.length, messages: meter.messages }, endMs),
    )
  }
}

function latestOf(copies: readonly (Copy | undefined)[]): Copy {
  const none: Copy = { stamp: NO_TIMESTAMP, value: undefined }
  return copies.reduce<Copy>(
    (latest, copy) => (copy !== undefined && compareTimestamps(copy.stamp, latest.stamp) > 0 ? copy : latest),
    none,
  )
}
