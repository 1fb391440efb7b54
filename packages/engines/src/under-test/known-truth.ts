/**
 * Reads and writes whose truth is known: for each object, every state that it was ever given, when each was requested and
 * when it was acknowledged. A read is correct if it returns the state that was last acknowledged before the read began, or a
 * later one that was requested before it ended. Objects that are written together must be read in one state.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Position, Store, StoredValue, Write } from '@freshet/core/store'

export interface TruthOptions {
  readonly writer: Store
  readonly reader: Store
  /** Pairs of objects, each written by one writer that waits for the reply. */
  readonly pairs: number
  /** The average time between two writes of a pair. */
  readonly pauseMs: number
  /** Objects that are no longer written: nearly all reads are of those, as in practice. */
  readonly quiet: number
}

interface Pair {
  readonly keys: readonly [string, string]
  asked: number
  acknowledged: number
  position: Position
}

/** In every fourth state of an object, the object does not exist. */
const DELETED_EVERY = 4
const READERS = 6
/** Replicas take seconds to lag, stop and return: without a pause, reads would keep all processors busy in the meantime. */
const READ_PAUSE_MS = 2
const BUCKET = 'truth/pairs'
const QUIET = 'truth/quiet'

export class KnownTruth {
  readonly #options: TruthOptions
  readonly #pairs: readonly Pair[]
  readonly #work: Promise<void>[] = []
  #isOver = false
  #latest: Position = 0
  reads = 0
  commits = 0
  readonly wrong: string[] = []

  constructor(options: TruthOptions) {
    this.#options = options
    this.#pairs = Array.from({ length: options.pairs }, (_, i) => ({
      keys: [`${BUCKET}/${i}-a`, `${BUCKET}/${i}-b`] as const,
      asked: 0,
      acknowledged: 0,
      position: 0,
    }))
  }

  /** Resolves when the quiet objects exist; reads and writes continue from then on. */
  async begin(): Promise<void> {
    const { writer, quiet } = this.#options
    const writes = Array.from({ length: quiet }, (_, i) => aState(`${QUIET}/${i}`, i * DELETED_EVERY + 1))
    const result = await writer.commit({ writes })
    if (!result.committed) throw new Error('The quiet objects were refused.')
    this.#work.push(...this.#pairs.map(pair => this.#write(pair)))
    this.#work.push(...Array.from({ length: READERS }, (_, i) => this.#read(i)))
  }

  /** Throws if any read or write has failed. */
  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#work)
  }

  async #write(pair: Pair): Promise<void> {
    const { writer, pauseMs } = this.#options
    while (!this.#isOver) {
      const state = pair.asked + 1
      pair.asked = state
      const result = await writer.commit({ writes: pair.keys.map(key => aState(key, state)) })
      if (!result.committed) throw new Error(`Refused: ${JSON.stringify(result)}`)
      pair.acknowledged = state
      pair.position = result.position
      this.#latest = Math.max(this.#latest, result.position)
      this.commits++
      await delay(2 * pauseMs * Math.random())
    }
  }

  async #read(i: number): Promise<void> {
    for (let turn = i; !this.#isOver; turn++) {
      await this.#readOnce(turn)
      this.reads++
      await delay(READ_PAUSE_MS)
    }
  }

  async #readOnce(turn: number): Promise<void> {
    const { reader, quiet } = this.#options
    const pair = this.#pairs[Math.floor(Math.random() * this.#pairs.length)]!
    const before = pair.acknowledged
    const reported = this.#latest
    if (turn % 10 === 0) {
      const { value } = await reader.getMany(pair.keys)
      this.#judge('getMany', pair, before, value)
      if (value[0]?.version !== value[1]?.version) this.wrong.push('getMany: two states')
    } else if (turn % 10 === 1) {
      const { entries } = await reader.scan(BUCKET, { limit: 1000 })
      const ids = pair.keys.map(key => key.slice(BUCKET.length + 1))
      const found = ids.map(id => entries.find(entry => entry.id === id))
      this.#judge('scan', pair, before, found)
    } else if (turn % 10 < 4) {
      this.#judge('get', pair, before, [await reader.get(pair.keys[0])])
    } else if (turn % 10 < 6) {
      this.#judge('get at least', pair, before, [await reader.get(pair.keys[1], reported)])
    } else {
      const id = Math.floor(Math.random() * quiet)
      const value = await reader.get(`${QUIET}/${id}`, turn % 2 === 0 ? reported : undefined)
      if (stateOf(value) !== id * DELETED_EVERY + 1) this.wrong.push(`quiet ${id}: ${stateOf(value)}`)
    }
  }

  #judge(how: string, pair: Pair, before: number, values: readonly (StoredValue | undefined)[]): void {
    for (const value of values) {
      const possible = Array.from({ length: pair.asked - before + 1 }, (_, i) => before + i)
      const state = stateOf(value)
      const isRight = possible.some(each => (isDeleted(each) ? state === undefined : state === each))
      if (!isRight) this.wrong.push(`${how}: state ${state} of ${pair.keys[0]}, not of ${possible.join(', ')}`)
    }
  }
}

function isDeleted(state: number): boolean {
  return state % DELETED_EVERY === 0
}

function aState(key: string, state: number): Write {
  if (isDeleted(state)) return { key, delete: true }
  return { key, contentType: 'text/plain', body: Buffer.from(`${state}`) }
}

function stateOf(value: StoredValue | undefined): number | undefined {
  return value && Number(Buffer.from(value.body).toString())
}
