/**
 * Numbers that only grow: the timestamp of each row is its own value, so a read returns the highest value that any server has
 * written, in whatever order. And the holders of names (`hold`), by lightweight transaction.
 */
import type { Registers } from '../log/log-storage.js'
import type { Session } from './session.js'

/** Timestamps cannot be negative, but these numbers can. */
const STAMP_BASE = 2 ** 50

export class CassandraRegisters implements Registers {
  readonly #session: Session
  readonly #store: string

  constructor(session: Session, store: string) {
    this.#session = session
    this.#store = store
  }

  async raise(values: ReadonlyMap<string, number>): Promise<void> {
    const writes = Array.from(values, ([name, value]) => {
      const stamp = name.startsWith('boot:') ? value + STAMP_BASE : value
      return this.#session.write('log', 'setClock', [this.#store, name, value, stamp])
    })
    await Promise.all(writes)
  }

  async highest(): Promise<ReadonlyMap<string, number>> {
    const { rows } = await this.#session.read('log', 'clocks', [this.#store])
    return new Map(rows.map(({ name, value }) => [name as string, value as number]))
  }

  async hold(name: string, holder: string, ms: number, clock: () => number): Promise<boolean> {
    for (;;) {
      const nowMs = clock()
      const until = ms > 0 ? nowMs + ms : 0
      const found = await this.#session.compareAndSet('hold', [this.#store, name, holder, until])
      if (found === undefined || (found.holder === holder && found.until === until)) return true
      if (found.holder !== holder && found.until > nowMs) return false
      const parameters = [holder, until, this.#store, name, found.holder, found.until]
      if ((await this.#session.compareAndSet('holdOn', parameters)) === undefined) return true
    }
  }
}
