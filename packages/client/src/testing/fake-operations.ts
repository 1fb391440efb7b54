/** A server's memory of operations, as described in docs/guides/counters-and-retries.md, in the simplest form: it never forgets. */
import { FreshetError, parseOperationId } from '@freshet/protocol'

interface Done {
  readonly fingerprint: string
  readonly answer: unknown
}

interface Remembered {
  settledTo: number
  readonly done: Map<number, Done>
}

export const RETENTION_MS: number = 24 * 3600 * 1000
const AHEAD_MS_MAX = 60_000

export class FakeOperations {
  readonly #clients = new Map<string, Remembered>()
  /** How often each operation took effect. */
  readonly applied: Map<string, number> = new Map()
  replays = 0

  /** Operations under way, as if in another request. */
  readonly inProgress: Set<string> = new Set()

  /** Throws what `act` throws; a refusal is not remembered. */
  once(key: string, fingerprint: string, nowMs: number, act: () => unknown): { answer: unknown; isReplayed: boolean } {
    const id = parseOperationId(key)
    if (id.kind !== 'own') throw new TypeError(`The client made the key ${key}.`)
    const { client, sequence, settledTo, madeMs } = id
    const name = `${client}.${sequence}`
    if (this.inProgress.has(name)) throw new FreshetError('OPERATION_IN_PROGRESS', name)
    const remembered = this.#clients.get(client) ?? { settledTo: 0, done: new Map<number, Done>() }
    const done = remembered.done.get(sequence)
    if (done) {
      if (done.fingerprint !== fingerprint) throw new FreshetError('OPERATION_MISMATCHED', name)
      this.replays++
      return { answer: done.answer, isReplayed: true }
    }
    if (sequence <= remembered.settledTo) throw new FreshetError('OPERATION_SETTLED', name)
    if (madeMs < nowMs - RETENTION_MS) throw new FreshetError('OPERATION_EXPIRED', name)
    if (madeMs > nowMs + AHEAD_MS_MAX)
      throw new FreshetError('IDEMPOTENCY_KEY_INVALID', name, { details: { reason: 'early' } })
    const answer = act()
    this.applied.set(name, (this.applied.get(name) ?? 0) + 1)
    remembered.settledTo = Math.max(remembered.settledTo, settledTo)
    for (const old of [...remembered.done.keys()]) if (old <= remembered.settledTo) remembered.done.delete(old)
    remembered.done.set(sequence, { fingerprint, answer })
    this.#clients.set(client, remembered)
    return { answer, isReplayed: false }
  }
}
