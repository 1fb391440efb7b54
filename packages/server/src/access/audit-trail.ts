/**
 * Writes to the audit what is not a commit of its own. A statement that changes something is recorded before it is carried out.
 * Queries are recorded within a second, equal ones as one entry, so that a busy page does not cost a commit for each.
 */
import type { Store } from '@freshet/core/store'
import { describeError, type Log } from '../monitoring/log.js'
import { type Audited, auditWrite } from './audit.js'

const WITHIN_MS = 1000
/** How many different queries may wait to be written. */
const WAITING_MAX = 1000

export class AuditTrail {
  readonly #store: Store
  readonly #log: Log
  readonly #waiting = new Map<string, { readonly audited: Audited; times: number }>()
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> | undefined

  constructor(store: Store, log: Log) {
    this.#store = store
    this.#log = log
  }

  /** Resolves when the entry is in the store. */
  async record(audited: Audited): Promise<void> {
    await this.#store.commit({ writes: [auditWrite(audited)] })
    this.#log.write('info', 'audit', { ...audited })
  }

  /** The entry is in the store within a second. */
  note(audited: Audited): void {
    const same = JSON.stringify(audited)
    const waiting = this.#waiting.get(same)
    if (waiting === undefined) this.#waiting.set(same, { audited, times: 1 })
    else waiting.times++
    if (this.#waiting.size >= WAITING_MAX) void this.#flush()
    this.#timer ??= setTimeout(() => void this.#flush(), WITHIN_MS).unref()
  }

  async stop(): Promise<void> {
    await this.#flush()
  }

  #flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const noted = [...this.#waiting.values()]
    this.#waiting.clear()
    if (noted.length > 0) this.#flushing = this.#write(noted, this.#flushing)
    return this.#flushing ?? Promise.resolve()
  }

  async #write(
    noted: readonly { readonly audited: Audited; readonly times: number }[],
    before?: Promise<void>,
  ): Promise<void> {
    await before
    try {
      await this.#store.commit({ writes: noted.map(({ audited, times }) => auditWrite({ ...audited, times })) })
    } catch (error) {
      this.#log.write('error', 'queries could not be written to the audit', {
        queries: noted.length,
        ...describeError(error),
      })
    }
    for (const { audited, times } of noted) this.#log.write('info', 'audit', { ...audited, times })
  }
}
