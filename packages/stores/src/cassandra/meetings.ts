/**
 * The store's clock (`../redis/redis-clock.ts` has the argument): that of the servers' machines, which meet several times a second. They
 * meet in a row whose timestamp is its own value, so that what is read is the highest time that any of them has written, by whomever
 * and in whichever order. So does what each machine adds to its clock: all its servers have the same.
 */
import type { RedisClock } from '../redis/redis-clock.js'
import type { Session } from './session.js'

const TIME = 'time'
/** A timestamp is not negative; what is added to a clock may be. */
const STAMP_BASE = 2 ** 50

export class Meetings {
  readonly #session: Session
  readonly #store: string
  readonly #clock: RedisClock

  constructor(session: Session, store: string, clock: RedisClock) {
    this.#session = session
    this.#store = store
    this.#clock = clock
  }

  /** `atLeastMs`: a time that the log has seen. */
  async begin(atLeastMs: number): Promise<void> {
    await this.#learn(atLeastMs)
    await this.meet()
    // Another server of this machine may have begun at the same time.
    await this.#learn(atLeastMs)
  }

  /** Tells the others how late it is, and is told. */
  async meet(): Promise<void> {
    const nowMs = this.#clock.nowMs()
    const offsetMs = nowMs - this.#clock.monotonicMs()
    await Promise.all([this.#write(TIME, nowMs, nowMs), this.#write(this.#boot, offsetMs, offsetMs + STAMP_BASE)])
    await this.#learn(0)
  }

  get #boot(): string {
    return `boot:${this.#clock.boot}`
  }

  async #learn(atLeastMs: number): Promise<void> {
    const { rows } = await this.#session.read('log', 'clocks', [this.#store])
    const told = new Map(rows.map(({ name, value }) => [name as string, value as number]))
    // By now it is later than that: whoever is set to it is never ahead.
    const behindMs = Math.max(told.get(TIME) ?? 0, Math.ceil(atLeastMs)) - this.#clock.monotonicMs()
    this.#clock.meet(Math.max(told.get(this.#boot) ?? Number.NEGATIVE_INFINITY, behindMs))
  }

  async #write(name: string, value: number, stamp: number): Promise<void> {
    await this.#session.write('log', 'setClock', [this.#store, name, value, stamp])
  }
}
