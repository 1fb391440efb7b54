/**
 * Reads. ONE: the nearest replica that answers. QUORUM, ALL: the latest cell of as many replicas as the level requires; before it
 * is returned, as many replicas have it, so that the next such read does not return an older one. CURRENT is UMS of Akbarinia,
 * Pacitti and Valduriez (`@freshet/dht, updates.ts`): the key's holder says which timestamp is the last, and the nearest replica
 * that has it is current, for certain.
 *
 * A replica may have a later stamp than is known to be committed: from a writer that is not done yet, has died, or asked no
 * majority. The holder writes that cell to a majority before the read returns it as current; else a later read might return
 * another.
 */
import type { Key } from '@freshet/core/store'
import {
  type Cell,
  type CellRecord,
  type CellValue,
  compareStamps,
  copied,
  NO_STAMP,
  type ReadLevel,
  type Stamp,
} from '../records/index.js'
import { KeyLost } from './cell-writes.js'
import { checkLayoutSame, gather } from './gather.js'
import type { HeldKey, KeyTenures } from './key-tenures.js'
import type { LayoutView } from './layout-view.js'
import type { NodeLine, Seen } from './node-line.js'
import { LayoutChanged } from './node-line.js'
import type { OtherCoordinators } from './other-coordinators.js'
import { tooFew } from './refusals.js'

export interface CellRead {
  /** Undefined if the key was never written, or was deleted. */
  readonly value: CellValue | undefined
  readonly stamp: Stamp
  /** No later write was acknowledged by a majority, nor read as current, before this read began. Only with CURRENT. */
  readonly isCurrent: boolean
  /** How many replicas were asked for it. */
  readonly replicas: number
}

interface Parts {
  readonly tenures: KeyTenures
  readonly others: OtherCoordinators
  readonly random: () => number
  /** The share of reads at ONE after which all replicas are compared in the background. */
  readonly repairShare: number
  readonly background: (work: Promise<unknown>) => void
}

/** What was found on the replicas that answered. */
interface Search {
  best: Cell
  asked: number
  readonly behind: NodeLine[]
  readonly failures: Map<string, unknown>
}

export class CellReads {
  readonly #parts: Parts
  /** Counted since this coordinator was opened. */
  readonly counts = { current: 0, certified: 0, replicas: 0, repairs: 0 }

  constructor(parts: Parts) {
    this.#parts = parts
  }

  read(key: Key, level: ReadLevel, view: LayoutView): Promise<CellRead> {
    if (level === 'CURRENT') return this.#readCurrent(key, view)
    return level === 'ONE' ? this.#readOne(key, view) : this.#readMany(key, level, view)
  }

  /** For another coordinator: the last committed stamp of a key that this one holds. Undefined if it does not hold the key. */
  async lastHere(key: Key, view: LayoutView): Promise<Stamp | undefined> {
    const held = await this.#parts.tenures.forReading(key, view)
    return 'other' in held ? undefined : held.committed
  }

  async readHere(key: Key, view: LayoutView): Promise<CellRead | undefined> {
    const held = await this.#parts.tenures.forReading(key, view)
    return 'other' in held ? undefined : this.readHeld(key, held, view)
  }

  async #readOne(key: Key, view: LayoutView): Promise<CellRead> {
    const failures = new Map<string, unknown>()
    for (const line of view.nearestSettled(key)) {
      try {
        const { record } = await line.read(key, view.epoch)
        if (this.#parts.random() < this.#parts.repairShare) this.#parts.background(this.#readMany(key, 'ALL', view))
        return { value: record.value, stamp: record.stamp, isCurrent: false, replicas: failures.size + 1 }
      } catch (error) {
        if (error instanceof LayoutChanged) throw error
        failures.set(line.name, error)
      }
    }
    throw tooFew('read', key, 'ONE', { answers: new Map(), failures }, 'not-done')
  }

  async #readMany(key: Key, level: 'QUORUM' | 'ALL', view: LayoutView): Promise<CellRead> {
    const lines = view.linesOf(key)
    const result = await gather(
      lines,
      line => line.read(key, view.epoch),
      answers => view.isEnough(key, new Set(answers.keys()), level),
    )
    checkLayoutSame(result)
    if (!result.isEnough) throw tooFew('read', key, level, result, 'not-done')
    const asked = result.answers.size
    const latest = latestOf([...result.answers.values()].map(({ record }) => record))
    await this.#repairBefore(key, level, latest, result.answers, view)
    this.#parts.background(result.all.then(() => this.repair(key, latest, result.answers, view)))
    return { value: latest.value, stamp: latest.stamp, isCurrent: false, replicas: asked }
  }

  /** Copies the latest cell to replicas until as many have it as the level requires. */
  async #repairBefore(
    key: Key,
    level: 'QUORUM' | 'ALL',
    latest: Cell,
    answers: ReadonlyMap<string, Seen>,
    view: LayoutView,
  ): Promise<void> {
    const having = [...answers].filter(([, { record }]) => compareStamps(record.stamp, latest.stamp) >= 0)
    const names = new Set(having.map(([name]) => name))
    if (view.isEnough(key, names, level)) return
    const result = await gather(
      view.linesOf(key),
      line => this.#copy(key, latest, line, view),
      done => view.isEnough(key, new Set([...names, ...done.keys()]), level),
    )
    checkLayoutSame(result)
    if (!result.isEnough) throw tooFew('read', key, level, result, 'not-done')
  }

  /** Copies the latest cell to replicas that have an older one. Nothing is lost if it fails: the next read does it again. */
  async repair(key: Key, latest: Cell, answers: ReadonlyMap<string, Seen>, view: LayoutView): Promise<void> {
    const behind = [...answers].filter(([, { record }]) => compareStamps(record.stamp, latest.stamp) < 0)
    await gather(
      view.linesNamed(behind.map(([name]) => name)),
      line => this.#copy(key, latest, line, view),
      () => false,
    )
  }

  #copy(key: Key, cell: Cell, line: NodeLine, view: LayoutView): Promise<unknown> {
    this.counts.repairs++
    return line.change(key, view.epoch, record => copied(record, cell) ?? record)
  }

  async #readCurrent(key: Key, view: LayoutView): Promise<CellRead> {
    this.counts.current++
    const held = await this.#parts.tenures.forReading(key, view)
    if (!('other' in held)) return this.readHeld(key, held, view)
    const { other } = held
    const last = await this.#asked(other, key, others => others.last(other, key, view.epoch))
    const search = await this.#search(key, last, view)
    const order = compareStamps(search.best.stamp, last)
    if (order <= 0) return this.#answer(key, search, order === 0, view)
    // Only the holder can commit a cell that is later.
    return this.#asked(other, key, others => others.read(other, key))
  }

  /** A holder that lost the key, or does not answer, is not asked again: the key is then claimed, or waited for. */
  async #asked<Answer>(
    holder: string,
    key: Key,
    ask: (others: OtherCoordinators) => Promise<Answer | undefined>,
  ): Promise<Answer> {
    const { others, tenures } = this.#parts
    const answer = await ask(others).catch(error => {
      if (others.canAsk(holder)) throw error
      return undefined
    })
    if (answer === undefined) tenures.forgetOther(key)
    if (answer === undefined) throw new KeyLost(`${holder} no longer holds ${key}`)
    return answer
  }

  /** Reads a key that we hold, under our tenure. */
  async readHeld(key: Key, held: HeldKey, view: LayoutView): Promise<CellRead> {
    const { committed } = held
    const search = await this.#search(key, committed, view)
    const order = compareStamps(search.best.stamp, committed)
    const isCurrent = order > 0 ? await this.#parts.tenures.secure(key, search.best, held, view) : order === 0
    return this.#answer(key, search, isCurrent, view)
  }

  /** Asks the replicas one after the other, nearest first, until one has this stamp or a later one. */
  async #search(key: Key, wanted: Stamp, view: LayoutView): Promise<Search> {
    const none = { stamp: NO_STAMP, value: undefined }
    const search: Search = { best: none, asked: 0, behind: [], failures: new Map() }
    for (const line of view.nearest(key)) {
      search.asked++
      try {
        const { record } = await line.read(key, view.epoch)
        if (compareStamps(record.stamp, search.best.stamp) >= 0) search.best = record
        if (compareStamps(record.stamp, wanted) >= 0) return search
        search.behind.push(line)
      } catch (error) {
        if (error instanceof LayoutChanged) throw error
        search.failures.set(line.name, error)
      }
    }
    if (search.failures.size === search.asked) throw tooFew('read', key, 'CURRENT', notOne(search), 'not-done')
    return search
  }

  #answer(key: Key, { best, asked, behind }: Search, isCurrent: boolean, view: LayoutView): CellRead {
    this.counts.replicas += asked
    if (isCurrent) this.counts.certified++
    if (isCurrent && behind.length > 0) {
      const copies = behind.map(line => this.#copy(key, best, line, view))
      this.#parts.background(Promise.all(copies))
    }
    return { value: best.value, stamp: best.stamp, isCurrent, replicas: asked }
  }
}

function notOne({ failures }: Search) {
  return { answers: new Map(), failures }
}

function latestOf(records: readonly CellRecord[]): Cell {
  return records.reduce((a, b) => (compareStamps(a.stamp, b.stamp) >= 0 ? a : b))
}
