/**
 * One held state of an embedded store, from which backups and exports read while the server continues in its own process.
 * LMDB keeps the pages of a state as long as a process reads it, so the store's file grows by what is written in the
 * meantime; `renew` releases the state and takes the latest. The snapshot cannot be written to.
 *
 * The latest commits of a state may not be on disk yet, and not acknowledged. If the machine goes down at that moment, the
 * store loses them although they were read here. A caller that continues from a position must check that the log still has
 * it.
 */
import type { StoreSupports } from '@freshet/core/store'
import type { FreshetError } from '@freshet/protocol'
import type { Engine } from '@freshet/store/engine'
import { DurableMark } from './durable-mark.js'
import type { Environment } from './environment.js'
import { storeUnusable } from './lmdb-errors.js'
import { LmdbReads } from './lmdb-reads.js'

export class LmdbSnapshotEngine extends LmdbReads implements Engine {
  readonly supports: StoreSupports = { durability: 'disk', retentionMs: 0 }
  readonly hasLeases = false

  constructor(path: string, environment: Environment, log: string) {
    super({ path, environment, log, mark: new DurableMark(Number.MAX_SAFE_INTEGER), isShared: true })
    this.renew()
  }

  /** Takes the latest state. No read may be under way. */
  renew(): void {
    this.state?.done()
    this.environment.refresh()
    this.state = this.environment.useReadTransaction()
  }

  async commit(): Promise<never> {
    throw this.#readOnly()
  }

  async trim(): Promise<never> {
    throw this.#readOnly()
  }

  async remember(): Promise<never> {
    throw this.#readOnly()
  }

  async forgetOperations(): Promise<never> {
    throw this.#readOnly()
  }

  operationCounts(): never {
    throw this.#readOnly()
  }

  hold(): never {
    throw this.#readOnly()
  }

  nowMs(): never {
    throw this.#readOnly()
  }

  async close(): Promise<void> {
    this.state?.done()
    await this.environment.close()
  }

  #readOnly(): FreshetError {
    return storeUnusable(this.place, 'this is a snapshot, which can only be read')
  }
}
