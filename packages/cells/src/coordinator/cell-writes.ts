/**
 * Writes. At QUORUM and ALL a write gets the key's next timestamp from its holder. At ONE and ANY the writer need not ask a
 * majority, so these writes are possible without one; their place is beside the last timestamp that the writer knows
 * (`records/stamp.ts`).
 *
 * A write whose outcome is unknown is reported as such and never repeated: its value may still take effect, and must not do so
 * twice.
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
  /** How many replicas had taken it when it was acknowledged. At ANY it may be 0. */
  readonly replicas: number
}

/** Returns the new value; undefined leaves the value as it is. */
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

  /** Writes for another coordinator. Returns undefined if we do not hold the key. */
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

  /** Writes what `next` returns for the current value. No other write comes in between: read and write are under one tenure. */
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

  /** Runs work on the same key one after the other: concurrent writes would only conflict on the nodes. */
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

  /** Writes a cell whose stamp was decided elsewhere; repeating it does no harm. */
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
      // If the holder did nothing and cannot be asked, the key is claimed, or waited for. Otherwise the caller gets the error.
      if (error?.details?.outcome !== 'not-done' || others.canAsk(held.other)) throw error
      return undefined
    })
    if (written === undefined) tenures.forgetOther(key)
    if (written === undefined) throw new KeyLost(`${held.other} no longer holds ${key}`)
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
    // The key must be written under the layout that it is held under: a majority by another layout has not granted the tenure.
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

  /** Why certainly no node took the write: the layout has changed, or another coordinator holds the key. It then begins again. */
  #refused(key: Key, { failures }: Gathered<Changed>): Error {
    for (const failure of failures.values()) if (failure instanceof LayoutChanged) return failure
    return new KeyLost(`another coordinator holds ${key} by now`)
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
    // A key that is written again must be later than every tombstone of it that was collected.
    const begin = stampOf({ tenure: view.layout.floor, count: 0 })
    const known = [...read.answers.values()].map(({ record }) => record.stamp).reduce(laterStamp, begin)
    const stamp = stampBeside(laterStamp(known, hints.lastStampOf(key) ?? NO_STAMP), writer, this.#lastAside)
    this.#lastAside = stamp.aside
    return stamp
  }

  /** Sends the change to all replicas, and keeps a hint for each that did not take it. */
  async #spread(key: Key, { cell, level, change, known }: Spread, view: LayoutView): Promise<Gathered<Changed>> {
    const { hints } = this.#parts
    const hinted = new Set<string>()
    const isEnough = (answers: ReadonlyMap<string, unknown>) =>
      view.isEnough(key, new Set([...answers.keys(), ...(level === 'ANY' ? hinted : [])]), level)
    const ask = async (line: NodeLine): Promise<Changed> => {
      try {
        const changed = await line.change(key, view.epoch, change, known?.get(line.name))
        if (!changed.isTaken) throw new KeyLost(`node ${line.name} has granted tenure ${changed.record.tenure}`)
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

/** A later tenure was granted: nothing was done, and the key must be claimed again. */
export class KeyLost extends Error {
  override readonly name = 'KeyLost'
}

/** No node took the change, and no node can have taken it without our knowing. */
function isUntouched({ answers, failures }: Gathered<Changed>): boolean {
  const isRefusal = (failure: unknown) => failure instanceof KeyLost || failure instanceof LayoutChanged
  return answers.size === 0 && [...failures.values()].every(isRefusal)
}
