/**
 * The last global write to each table, as the log has it: one read of the log shows for every earlier result whether it still
 * holds. A caller gets a read that began after its call; concurrent callers share one.
 */
import { type GlobalLog, SCHEMA_ASPECT, type Versions } from '../plan/index.js'

export interface Seen {
  readonly head: number
  readonly last: ReadonlyMap<string, number>
}

export class LogView {
  readonly #log: GlobalLog
  #seen: Seen = { head: 0, last: new Map() }
  #underWay: Promise<Seen> | undefined
  #next: Promise<Seen> | undefined

  constructor(log: GlobalLog) {
    this.#log = log
  }

  /** As it was at the last read. */
  get seen(): Seen {
    return this.#seen
  }

  /** Throws SHARD_UNAVAILABLE. */
  look(): Promise<Seen> {
    if (this.#underWay === undefined) return this.#begin()
    this.#next ??= this.#underWay.then(
      () => this.#begin(),
      () => this.#begin(),
    )
    return this.#next
  }

  #begin(): Promise<Seen> {
    this.#next = undefined
    const work = this.#look().finally(() => {
      this.#underWay = undefined
    })
    this.#underWay = work
    return work
  }

  async #look(): Promise<Seen> {
    const known = this.#seen
    const { head, aspects } = await this.#log.changesAfter(known.head)
    if (head !== known.head) this.#seen = { head, last: new Map([...known.last, ...aspects]) }
    return this.#seen
  }
}

/** Whether none of these tables, nor the schema, was written after a position. */
export function isUntouched({ last }: Seen, tables: readonly string[], through: number): boolean {
  return [...tables, SCHEMA_ASPECT].every(aspect => (last.get(aspect) ?? 0) <= through)
}

export function versionsIn({ last }: Seen): Versions {
  return Object.fromEntries(last)
}
