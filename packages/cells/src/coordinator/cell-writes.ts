/**
 * Writes. At QUORUM and ALL they get the key's next timestamp from its holder; at ONE and ANY the writer need not ask a majority, so
 * that they are possible without one, and what it writes has its place beside the last timestamp that it knows
 * (`records/stamp.ts`).
 *
 * A write whose outcome is not known is told so and never repeated: its value may come to light yet, and must not do so twice.
 */
import type { Key } from '@freshet/core/store'
import {
  type Cell,
  type CellRecord,
  type CellValue,
  copied,
  laterStamp,
  NO_STAMP,
  type Stamp,
  stampBeside,
  stampOf,
  type WriteLevel,
  written,
} from '../records/index.js'
import type { CellRead } from './cell-reads.js'
import { checkLayoutSame, type Gathered, gather } from './gather.js'
import type { Hints } from './hints.js'
import type { HeldKey, KeyTenures } from './key-tenures.js'
import type { LayoutView } from './layout-view.js'
import type { Changed, NodeLine, Seen } from './node-line.js'
import { LayoutChanged } from './node-line.js'
import type { OtherCoordinators } from './other-coordinators.js'
import { noHolder, tooFew } from './refusals.js'
import type { Timing } from './timing.js'

export interface CellWritten {
  readonly stamp: Stamp
  /** How many had taken it when it was acknowledged. With ANY it may be none. */
  readonly replicas: number
}

/** Undefined: it stays as it is. */
export type Next = (value: CellValue | undefined) => CellValue | undefined

type ReadHeld = (held: HeldKey, view: LayoutView) => Promise<CellRead>

interface Parts {
  readonly tenures: KeyTenures
  readonly hints: Hints
  readonly timing: Timing
  /** Drawn at random. */
  readonly writer: number
  readonly others: OtherCoordinators
}

interface Spread {
  readonly cell: Cell
  readonly level: WriteLevel
  readonly change: (record: CellRecord) => CellRecord | undefined
  readonly known?: ReadonlyMap<string, Seen>
}

export class CellWrites {
  readonly #parts: Parts
  #lastAside = 0
  readonly #turns = new Map<Key, Promise<unknown>>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  write(key: Key, value: CellValue | undefined, level: WriteLevel, view: () => LayoutView): Promise<CellWritten> {
    return this.#inTurn(key, () => this.#write(key, value, level, view()))
  }

  /** Undefined if we do not hold the key. For others who ask. */
  writeHere(
    key: Key,
    value: CellValue | undefined,
    level: WriteLevel,
    view: () => LayoutView,
  ): Promise<CellWritten | undefined> {
    return this.#inTurn(key, async () => {
      const now = view()
      const held = await this.#parts.tenures.forWriting(key, now)
      return 'other' in held ? undefined : this.#writeHeld(key, value, level, held, now)
    })
  }

  /** What `next` makes of the value that is there, if nobody writes in between: both are under one tenure. */
  update(key: Key, next: Next, current: ReadHeld, view: () => LayoutView): Promise<CellRead> {
    return this.#inTurn(key, async () => {
      const now = view()
      const held = await this.#parts.tenures.forUpdate(key, now)
      const read = await current(held, now)
      if (!read.isCurrent) throw noHolder(key, 'the replicas that have its last value do not answer')
      const value = next(read.value)
      if (value === undefined) return read
      const { stamp } = await this.#writeHeld(key, value, 'QUORUM', held, now)
      return { ...read, value, stamp }
    })
  }

  /** One after the other for each key: several at once would only be in each other's way on the nodes. */
  async #inTurn<Result>(key: Key, work: () => Promise<Result>): Promise<Result> {
    const before = this.#turns.get(key)
    const turn = (async () => {
      await before?.catch(() => {})
      return await work()
    })()
    this.#turns.set(key, turn)
    try {
      return await turn
    } finally {
      if (this.#turns.get(key) === turn) this.#turns.delete(key)
    }
  }

  /** With a stamp that was decided on elsewhere; to be repeated at will. */
  async put(key: Key, cell: Cell, level: WriteLevel, view: LayoutView): Promise<CellWritten> {
    const result = await this.#spread(key, { cell, level, change: record => copied(record, cell) ?? record }, view)
    checkLayoutSame(result)
    return this.#end(key, cell, level, result, 'unknown')
  }

  async #write(key: Key, value: CellValue | undefined, level: WriteLevel, view: LayoutView): Promise<CellWritten> {
    if (level === 'ANY' || level === 'ONE') return this.#writeAside(key, value, level, view)
    const held = await this.#parts.tenures.forWriting(key, view)
    if (!('other' in held)) return this.#writeHeld(key, value, level, held, view)
    const { others, tenures } = this.#parts
    const written = await others.write(held.other, key, value, level).catch(error => {
      tenures.forgetOther(key)
      // Then it is claimed, or waited for; else nobody knows.
      if (error?.details?.outcome !== 'not-done' || others.canAsk(held.other)) throw error
      return undefined
    })
    if (written === undefined) tenures.forgetOther(key)
    if (written === undefined) throw new KeyLost(`${held.other} does not hold ${key} any more`)
    return written
  }

  async #writeHeld(
    key: Key,
    value: CellValue | undefined,
    level: WriteLevel,
    held: HeldKey,
    view: LayoutView,
  ): Promise<CellWritten> {
    const { tenures, timing } = this.#parts
    // Under the layout that it is held under: by another one a majority has not granted it.
    if (held.epoch !== view.epoch) throw new LayoutChanged()
    const askedMs = timing.pessimisticMs()
    const stamp = tenures.give(held)
    const cell = { stamp, value }
    const change = (record: CellRecord) => written(record, cell, held.holding)
    const result = await this.#spread(key, { cell, level, change, known: held.known }, view)
    for (const [name, { version, record }] of result.answers) held.known.set(name, { version, record })
    for (const name of result.failures.keys()) held.known.delete(name)
    if (view.isEnough(key, new Set(result.answers.keys()), 'QUORUM')) tenures.confirm(held, stamp, askedMs)
    if (result.isEnough) return { stamp, replicas: result.answers.size }
    await result.all
    if (view.isEnough(key, new Set(result.answers.keys()), 'QUORUM')) tenures.confirm(held, stamp, askedMs)
    else tenures.drop(key, held)
    if (isUntouched(result)) throw this.#refused(key, result)
    return this.#end(key, cell, level, result, 'unknown')
  }

  /** Nobody has taken it, for certain: the layout has changed, or another has the key by now. Then it is begun anew. */
  #refused(key: Key, { failures }: Gathered<Changed>): Error {
    for (const failure of failures.values()) if (failure instanceof LayoutChanged) return failure
    return new KeyLost(`another coordinator has ${key} by now`)
  }

  async #writeAside(key: Key, value: CellValue | undefined, level: WriteLevel, view: LayoutView): Promise<CellWritten> {
    const stamp = await this.#stampAside(key, level, view)
    const cell = { stamp, value }
    const result = await this.#spread(key, { cell, level, change: record => copied(record, cell) ?? record }, view)
    if (!result.isEnough) {
      await result.all
      if (isUntouched(result)) checkLayoutSame(result)
    }
    return this.#end(key, cell, level, result, 'unknown')
  }

  async #stampAside(key: Key, level: WriteLevel, view: LayoutView): Promise<Stamp> {
    const { tenures, writer, hints } = this.#parts
    const held = tenures.find(key, view)
    if (held !== undefined) return tenures.give(held)
    const read = await gather(
      view.linesOf(key),
      line => line.read(key, view.epoch),
      answers => view.isEnough(key, new Set(answers.keys()), 'ONE'),
    )
    checkLayoutSame(read)
    if (!read.isEnough && level !== 'ANY') throw tooFew('written', key, level, read, 'not-done')
    // A key that comes anew is later than all that was collected of it.
    const begin = stampOf({ tenure: view.layout.floor, count: 0 })
    const known = [...read.answers.values()].map(({ record }) => record.stamp).reduce(laterStamp, begin)
    const stamp = stampBeside(laterStamp(known, hints.lastStampOf(key) ?? NO_STAMP), writer, this.#lastAside)
    this.#lastAside = stamp.aside
    return stamp
  }

  /** To all replicas; and a hint for each that did not take it. */
  async #spread(key: Key, { cell, level, change, known }: Spread, view: LayoutView): Promise<Gathered<Changed>> {
    const { hints } = this.#parts
    const hinted = new Set<string>()
    const isEnough = (answers: ReadonlyMap<string, unknown>) =>
      view.isEnough(key, new Set([...answers.keys(), ...(level === 'ANY' ? hinted : [])]), level)
    const ask = async (line: NodeLine): Promise<Changed> => {
      try {
        const changed = await line.change(key, view.epoch, change, known?.get(line.name))
        if (!changed.isTaken) throw new KeyLost(`node ${line.name} has given tenure ${changed.record.tenure}`)
        return changed
      } catch (error) {
        if (!(error instanceof KeyLost || error instanceof LayoutChanged)) {
          if (await hints.keep(line.name, key, cell, view)) hinted.add(line.name)
        }
        throw error
      }
    }
    return gather(view.linesOf(key), ask, isEnough).then(async result => {
      if (result.isEnough || level !== 'ANY') return result
      await result.all
      return { ...result, isEnough: isEnough(result.answers) }
    })
  }

  #end(
    key: Key,
    { stamp }: Cell,
    level: WriteLevel,
    result: Gathered<Changed>,
    outcome: 'not-done' | 'unknown',
  ): CellWritten {
    if (result.isEnough) return { stamp, replicas: result.answers.size }
    throw tooFew('written', key, level, result, outcome)
  }
}

/** A later tenure was granted: nothing was done, and the key has to be claimed anew. */
export class KeyLost extends Error {
  override readonly name = 'KeyLost'
}

/** Nobody took it, and nobody can have taken it without our knowing. */
function isUntouched({ answers, failures }: Gathered<Changed>): boolean {
  const isRefusal = (failure: unknown) => failure instanceof KeyLost || failure instanceof LayoutChanged
  return answers.size === 0 && [...failures.values()].every(isRefusal)
}
