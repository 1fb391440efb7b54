/** The record of operations, in memory, without regard to space. */
import {
  type ClientWindow,
  type ForeignOperation,
  hasExpired,
  hasForeignExpired,
  type OperationTables,
  type RetentionOptions,
} from '@freshet/core/counters'
import type { OperationCounts } from '@freshet/core/store'
import type { OwnOperationId } from '@freshet/protocol'

export class MemoryOperations implements OperationTables {
  readonly #windows = new Map<string, ClientWindow>()
  readonly #foreign = new Map<string, ForeignOperation>()

  window(client: string): ClientWindow | undefined {
    return this.#windows.get(client)
  }

  setWindow({ client }: OwnOperationId, window: ClientWindow): void {
    this.#windows.set(client, window)
  }

  foreign(id: string): ForeignOperation | undefined {
    return this.#foreign.get(id)
  }

  setForeign(id: string, operation: ForeignOperation): void {
    this.#foreign.set(id, operation)
  }

  forget(nowMs: number, retention: RetentionOptions): void {
    for (const [client, window] of this.#windows) if (hasExpired(window, nowMs, retention)) this.#windows.delete(client)
    for (const [id, done] of this.#foreign) if (hasForeignExpired(done, nowMs, retention)) this.#foreign.delete(id)
  }

  counts(): OperationCounts {
    const windows = [...this.#windows].map(([client, window]) => [client, { ...window, done: [...window.done] }])
    const memoryBytes = [...windows, ...this.#foreign].reduce((sum, each) => sum + JSON.stringify(each).length, 0)
    const counts = { clients: this.#windows.size, foreign: this.#foreign.size }
    return { ...counts, memoryBytes, diskBytes: 0, mode: 'exact', falsePositiveRate: 0 }
  }
}
