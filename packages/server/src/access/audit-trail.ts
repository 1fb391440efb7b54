/**
 * Notes what is no commit of its own in the audit. A statement that changes something is noted before it is carried out. Queries are noted
 * within a second, those that are the same as one, so that a busy page does not cost a commit for each.
 */
import type { Store } from '@freshet/core/store'
import { describeError, type Log } from '../monitoring/log.js'
import { type Audited, auditWrite } from './audit.js'

const WITHIN_MS = 1000
/** So many different queries are kept until they are written. */
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

  /** Resolves when it is in the store. */
  async record(audited: Audited): Promise<void> {
    await this.#store.commit({ writes: [auditWrite(audited)] })
    this.#log.write('info', 'audit', { ...audited })
  }

  /** Is in the store within a second. */
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
      this.#log.write('error', 'queries could not be noted in the audit', {
        queries: noted.length,
        ...describeError(error),
      })
    }
    for (const { audited, times } of noted) this.#log.write('info', 'audit', { ...audited, times })
  }
}
