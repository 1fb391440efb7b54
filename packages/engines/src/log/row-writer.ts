/** Writes the rows of records in the background, until they are written: the storage may be away for a while. */
import { setTimeout as delay } from 'node:timers/promises'
import { EngineLost } from '@freshet/store/engine'
import type { LogRecord } from './log-record.js'
import type { Rows } from './log-storage.js'
import type { Mirror } from './mirror.js'

const UNAPPLIED_BYTES_MAX = 64 * 1024 * 1024
const PAUSE_MS = 20
const PAUSE_MS_MAX = 1000
/**
 * After this time, other servers write the rows. A later attempt could bring back an object that was deleted since, once the
 * storage has forgotten the deletion.
 */
const TRIED_MS_MAX = 3_600_000

export class RowWriter {
  readonly #rows: Rows
  readonly #writing = new Map<number, Promise<void>>()
  #isClosed = false

  constructor(rows: Rows) {
    this.#rows = rows
  }

  /** Reports to the mirror when the rows are written. */
  write(record: LogRecord, mirror: Mirror): void {
    const { slot } = record
    if (this.#writing.has(slot) || slot <= mirror.applied) return
    this.#writing.set(
      slot,
      this.#write(record, mirror).finally(() => this.#writing.delete(slot)),
    )
  }

  /** Waits for room: records whose rows are not written are in the memory of all servers, so there must not be too many. */
  async room(mirror: Mirror): Promise<void> {
    while (mirror.unappliedBytes > UNAPPLIED_BYTES_MAX) {
      for (const record of mirror.unapplied()) this.write(record, mirror)
      await Promise.race(this.#writing.values())
    }
  }

  /** Another server could write the remaining rows, but if the storage answers, they are soon written here. */
  async close(waitMsMax: number): Promise<void> {
    const giveUp = delay(waitMsMax, undefined, { ref: false })
    await Promise.race([Promise.all(this.#writing.values()), giveUp])
    this.#isClosed = true
  }

  async #write(record: LogRecord, mirror: Mirror): Promise<void> {
    const beganMs = Date.now()
    for (let pauseMs = PAUSE_MS; Date.now() - beganMs < TRIED_MS_MAX; pauseMs = Math.min(PAUSE_MS_MAX, 2 * pauseMs)) {
      try {
        await this.#rows.apply(record)
        mirror.applyDone(record.slot)
        return
      } catch (error) {
        // If the error does not pass, the next read or commit reports it; another server may succeed.
        if (!(error instanceof EngineLost) || this.#isClosed) return
        await delay(pauseMs, undefined, { ref: false })
      }
    }
  }
}
