/**
 * The engine of an embedded store in a process beside the one that writes. It reads the same files by itself, on its own
 * core; its writes go through the channel to the writer, where commits also wait for leases.
 */
import type { Commit, CommitResult, OperationCounts, Position, StoreSupports } from '@freshet/core/store'
import { StoreClock } from '@freshet/store/clock'
import type { Engine } from '@freshet/store/engine'
import type { Attached } from './channel.js'
import type { Environment } from './environment.js'
import { LmdbReads } from './lmdb-reads.js'
import type { WriterLine } from './writer-line.js'

export interface LmdbReaderEngineOptions {
  readonly path: string
  readonly line: WriterLine
  readonly environment: Environment
  /** The writer's answer. */
  readonly attached: Attached
}

export class LmdbReaderEngine extends LmdbReads implements Engine {
  readonly supports: StoreSupports
  readonly hasLeases = false
  readonly #line: WriterLine
  readonly #clock: StoreClock

  constructor({ path, line, environment, attached }: LmdbReaderEngineOptions) {
    const log = environment.meta.get('log')!.toString()
    super({ path, environment, log, mark: line.mark, isShared: true })
    this.supports = attached.supports
    this.#line = line
    this.#clock = new StoreClock(attached.clock)
    line.onDurable = position => this.listeners.notifySoon(position)
  }

  commit(commit: Commit): Promise<CommitResult> {
    return this.#line.ask({ commit }) as Promise<CommitResult>
  }

  async forgetOperations(): Promise<void> {
    await this.#line.ask({ forgetOperations: true })
  }

  operationCounts(): Promise<OperationCounts> {
    return this.#line.ask({ countOperations: true }) as Promise<OperationCounts>
  }

  async trim(upTo: Position): Promise<void> {
    await this.#line.ask({ trim: upTo })
  }

  nowMs(): number {
    return this.#clock.nowMs()
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    await this.#line.ask({ remember: name, value })
  }

  hold(name: string, holder: string, ms: number): Promise<boolean> {
    return this.#line.ask({ hold: name, holder, ms }) as Promise<boolean>
  }

  stop(): Promise<void> {
    return this.#line.idle()
  }

  async close(): Promise<void> {
    this.#line.detach()
    await this.environment.close()
  }
}
