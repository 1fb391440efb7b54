/** The operations that this process is executing. */
import type { OperationId } from '@freshet/protocol'

export class InProgress {
  /** Sequences, by client. */
  readonly #own = new Map<string, Set<number>>()
  readonly #foreign = new Set<string>()

  /** False if the operation is already in progress. */
  begin(id: OperationId): boolean {
    if (id.kind === 'foreign') return begins(this.#foreign, id.id)
    const sequences = this.#own.get(id.client)
    if (sequences !== undefined) return begins(sequences, id.sequence)
    this.#own.set(id.client, new Set([id.sequence]))
    return true
  }

  end(id: OperationId): void {
    if (id.kind === 'foreign') {
      this.#foreign.delete(id.id)
      return
    }
    const sequences = this.#own.get(id.client)
    sequences?.delete(id.sequence)
    if (sequences?.size === 0) this.#own.delete(id.client)
  }
}

function begins<Name>(known: Set<Name>, name: Name): boolean {
  if (known.has(name)) return false
  known.add(name)
  return true
}
