/**
 * The keys that this coordinator holds: it gives their timestamps, and knows the last one committed for each. It works as
 * `@freshet/dht, tenures.ts` does, over nodes that are engines: the rules of a vote are in `records/cell-record.ts`.
 *
 * Why it is safe, whatever nodes and coordinators do:
 * - Two majorities of a key's replicas have a node in common, and that node grants a tenure once. So a tenure has one holder, and
 *   as timestamps begin with the tenure, none is given twice.
 * - A write is committed when a majority has taken it under its tenure. The coordinator that gets the next tenure sees the write
 *   in the same step in which a majority stops taking anything under the last tenure. So the `committed` of a new holder is never
 *   below what was acknowledged. A cell that only some of them had is written to a majority before it is returned to any caller.
 * - Between two steps a holder answers from memory for `leaseMs`, counted from before it asked. A claimant waits for `promiseMs`
 *   without seeing a new beat, counted from after it read the last one. Clocks may run wrong by `driftMax`. The holder's clock
 *   may run fast, and goes on while its machine sleeps (`Timing.pessimisticMs`); the claimant's may stand still. So while a
 *   holder answers, no other coordinator can have got a later tenure, unless the holder resigned, and then it stopped answering
 *   before.
 *
 * When the layout changes, keys are claimed again: see `change-layout.ts` for why that is safe.
 */
import type { Key } from '@freshet/core/store'
import {
  type Cell,
  type CellRecord,
  claimed,
  compareStamps,
  DISPUTED,
  type Holding,
  laterStamp,
  NO_COORDINATOR,
  NO_STAMP,
  released,
  renewed,
  type SeenBeat,
  type Stamp,
  stampOf,
  wished,
  written,
} from '../records/index.js'
import { checkLayoutSame, type Gathered, gather } from './gather.js'
import type { LayoutView } from './layout-view.js'
import type { Changed, NodeLine, Seen } from './node-line.js'
import { noHolder } from './refusals.js'
import { pause, type Timing } from './timing.js'

export interface TenureOptions {
  /** How long a claimant waits for a holder that shows no sign of life. */
  readonly promiseMs: number
  /** How wrong clocks may run, as a share of the time measured. */
  readonly driftMax: number
  /** How long a claim may take, including the wait for other holders. */
  readonly claimMsMax: number
  /** How many held keys are remembered. Beyond that, the least recently used are forgotten. */
  readonly keysMax: number
}

export const TENURE_DEFAULTS: TenureOptions = { promiseMs: 2000, driftMax: 0.01, claimMsMax: 8000, keysMax: 20_000 }

export interface HeldKey {
  readonly key: Key
  readonly holding: Holding
  readonly epoch: number
  /** The last timestamp given. */
  last: Stamp
  /** The highest that a majority is known to have. */
  committed: Stamp
  /** Until then this coordinator may answer from memory, by the clock that goes on while the machine sleeps. */
  untilMs: number
  /** The record that each node had when it last answered. */
  readonly known: Map<string, Seen>
}

/** Another coordinator has the key, and can be asked. */
export interface OtherHolder {
  readonly other: string
}

interface Watched {
  readonly seen: SeenBeat
  readonly sinceMs: number
}

const RETRY_MS = 20

export class KeyTenures {
  readonly self: string
  readonly #timing: Timing
  readonly #random: () => number
  readonly #options: TenureOptions
  readonly #canAsk: (holder: string) => boolean
  readonly #held = new Map<Key, HeldKey>()
  /** The coordinator that held a key when we last wanted it. */
  readonly #others = new Map<Key, string>()
  readonly #claims = new Map<Key, Promise<HeldKey | OtherHolder>>()
  readonly #leaseMs: number
  /** Counted since this coordinator was opened. */
  readonly counts = { claims: 0, renewals: 0, lost: 0 }

  constructor(parts: {
    /** Names this life of this coordinator and no other. If others can ask it, the name is the address where they do. */
    readonly self: string
    readonly timing: Timing
    readonly random: () => number
    readonly options: TenureOptions
    readonly canAsk: (holder: string) => boolean
  }) {
    this.self = parts.self
    this.#timing = parts.timing
    this.#random = parts.random
    this.#options = parts.options
    this.#canAsk = parts.canAsk
    const { promiseMs, driftMax } = parts.options
    this.#leaseMs = (promiseMs * (1 - driftMax)) / (1 + driftMax)
  }

  get size(): number {
    return this.#held.size
  }

  /** The key if we hold it, as far as we know: another coordinator may have taken it over since. */
  find(key: Key, view: LayoutView): HeldKey | undefined {
    const held = this.#held.get(key)
    if (held === undefined || held.epoch !== view.epoch) return undefined
    this.#held.delete(key)
    this.#held.set(key, held)
    return held
  }

  /** The key, held by us to write under; or the other coordinator that holds it. */
  async forWriting(key: Key, view: LayoutView): Promise<HeldKey | OtherHolder> {
    for (;;) {
      const found = this.find(key, view) ?? this.#otherOf(key) ?? (await this.#claimAlone(key, view))
      if (found !== undefined) return found
    }
  }

  /** We hold the key, and no other coordinator can have held it when this was called: so `committed` is the last. */
  async forReading(key: Key, view: LayoutView): Promise<HeldKey | OtherHolder> {
    for (;;) {
      const held = this.find(key, view)
      if (held !== undefined && (this.isLeased(held) || (await this.#renew(key, held, view)))) return held
      const found = this.#otherOf(key) ?? (await this.#claimAlone(key, view))
      if (found !== undefined) return found
    }
  }

  /** To be called when the other holder did not answer, or no longer holds the key. */
  forgetOther(key: Key): void {
    this.#others.delete(key)
  }

  /** As `forReading`, but we become the holder in any case: another holder is asked to release the key. */
  async forUpdate(key: Key, view: LayoutView): Promise<HeldKey> {
    for (;;) {
      const held = await this.forReading(key, view)
      if (!('other' in held)) return held
      const claimed = await this.#claimAlone(key, view, false)
      if (claimed !== undefined) return claimed as HeldKey
    }
  }

  isLeased(held: HeldKey): boolean {
    return this.#timing.pessimisticMs() < held.untilMs
  }

  /** The next timestamp. */
  give(held: HeldKey): Stamp {
    const { tenure } = held.holding
    held.last = stampOf({ tenure, count: held.last.tenure === tenure ? held.last.count + 1 : 1 })
    return held.last
  }

  /** A majority has taken something under our tenure that was sent at `askedMs`. */
  confirm(held: HeldKey, stamp: Stamp, askedMs: number): void {
    held.committed = laterStamp(held.committed, stamp)
    held.untilMs = Math.max(held.untilMs, askedMs + this.#leaseMs)
  }

  drop(key: Key, held: HeldKey): void {
    if (this.#held.get(key) !== held) return
    this.counts.lost++
    this.#held.delete(key)
  }

  /** Writes this cell to the replicas under our tenure, until a majority has it or a later one. */
  async secure(key: Key, cell: Cell, held: HeldKey, view: LayoutView): Promise<boolean> {
    const askedMs = this.#timing.pessimisticMs()
    const result = await this.#vote(key, view, line =>
      line.change(key, view.epoch, record => written(record, cell, held.holding)),
    )
    checkLayoutSame(result)
    if (result.isEnough) this.confirm(held, cell.stamp, askedMs)
    else this.drop(key, held)
    return result.isEnough
  }

  /** Releases all keys, so that no other coordinator need wait for our promise to run out. */
  async resignAll(view: () => LayoutView): Promise<void> {
    const keys = [...this.#held]
    this.#held.clear()
    for (const [key, { holding }] of keys) await this.#release(key, holding, view())
  }

  async #renew(key: Key, held: HeldKey, view: LayoutView): Promise<boolean> {
    this.counts.renewals++
    const askedMs = this.#timing.pessimisticMs()
    let isWished = false
    const result = await this.#vote(key, view, line =>
      line.change(key, view.epoch, record => {
        isWished ||= record.wish !== NO_COORDINATOR && record.wish !== this.self
        return isWished ? undefined : renewed(record, held.holding)
      }),
    )
    checkLayoutSame(result)
    if (result.isEnough) {
      this.confirm(held, NO_STAMP, askedMs)
      return true
    }
    this.drop(key, held)
    if (isWished) await this.#release(key, held.holding, view)
    return false
  }

  /**
   * Concurrent callers share one claim for a key: with two, the one that failed would release, by the tenure's number, what the
   * other was granted. Returns undefined if a claim was already under way. The caller must then check its result again: it may
   * have been made under another layout, or long enough ago for its lease to be over.
   */
  async #claimAlone(key: Key, view: LayoutView, mayAsk = true): Promise<HeldKey | OtherHolder | undefined> {
    const running = this.#claims.get(key)
    if (running !== undefined) {
      await running
      return undefined
    }
    const claim = this.#claim(key, view, mayAsk).finally(() => this.#claims.delete(key))
    this.#claims.set(key, claim)
    return claim
  }

  async #claim(key: Key, view: LayoutView, mayAsk: boolean): Promise<HeldKey | OtherHolder> {
    this.counts.claims++
    const watched = new Map<string, Watched>()
    const endMs = this.#timing.nowMs() + this.#options.claimMsMax
    const lines = view.linesOf(key)
    for (;;) {
      const read = await gather(lines, line => line.read(key, view.epoch), this.#isMajority(key, view))
      checkLayoutSame(read)
      if (!read.isEnough) throw noHolder(key, `only ${read.answers.size} of ${lines.length} replicas answer`)
      await this.#shortly(read)
      const records = [...read.answers.values()].map(({ record }) => record)
      const other = records.find(({ holder }) => this.#isAnother(holder) && this.#canAsk(holder))?.holder
      if (mayAsk && other !== undefined) return this.#noteOther(key, other)
      this.#watch(watched, read.answers)
      const held = this.#isOpen(key, view, read.answers, watched)
        ? await this.#tryClaim(key, view, records, watched)
        : undefined
      if (held !== undefined) return this.#keep(key, held)
      if (this.#timing.nowMs() > endMs) throw noHolder(key, whyNotClaimed(records))
      await pause(this.#timing, await this.#untilRipe(key, view, watched, records))
    }
  }

  /** Whether a majority would grant a claim now. A claim that only a minority grants would get in the holder's way. */
  #isOpen(
    key: Key,
    view: LayoutView,
    answers: ReadonlyMap<string, Seen>,
    watched: ReadonlyMap<string, Watched>,
  ): boolean {
    const holding = { tenure: Number.POSITIVE_INFINITY, holder: this.self }
    const open = [...answers].filter(([name, { record }]) => claimed(record, holding, this.#ripe(watched.get(name))))
    return view.isEnough(key, new Set(open.map(([name]) => name)), 'QUORUM')
  }

  async #tryClaim(
    key: Key,
    view: LayoutView,
    records: readonly CellRecord[],
    watched: ReadonlyMap<string, Watched>,
  ): Promise<HeldKey | undefined> {
    const highest = records.reduce((max, { tenure, stamp }) => Math.max(max, tenure, stamp.tenure), view.layout.floor)
    const holding: Holding = { tenure: highest + 1, holder: this.self }
    const askedMs = this.#timing.pessimisticMs()
    const result = await this.#vote(key, view, line =>
      line.change(key, view.epoch, record => claimed(record, holding, this.#ripe(watched.get(line.name)))),
    )
    checkLayoutSame(result)
    if (!result.isEnough) {
      await this.#release(key, holding, view)
      return undefined
    }
    const latest = [...result.answers.values()].map(({ record }) => record).reduce(latestOf)
    const held: HeldKey = {
      ...{ key, holding, epoch: view.epoch, last: NO_STAMP, committed: latest.stamp },
      ...{ untilMs: askedMs + this.#leaseMs, known: new Map() },
    }
    for (const [name, { version, record }] of result.answers) held.known.set(name, { version, record })
    return (await this.#isSettled(key, view, latest, result, held)) ? held : undefined
  }

  /** Writes a cell that only some of the majority had to a majority: the next holder might ask other replicas. */
  async #isSettled(
    key: Key,
    view: LayoutView,
    latest: CellRecord,
    { answers }: Gathered<Changed>,
    held: HeldKey,
  ): Promise<boolean> {
    const having = [...answers].filter(([, { record }]) => compareStamps(record.stamp, latest.stamp) === 0)
    const names = new Set(having.map(([name]) => name))
    if (compareStamps(latest.stamp, NO_STAMP) === 0 || view.isEnough(key, names, 'QUORUM')) return true
    held.known.clear()
    return this.secure(key, latest, held, view)
  }

  #keep(key: Key, held: HeldKey): HeldKey {
    this.#held.set(key, held)
    const oldest = this.#held.size > this.#options.keysMax ? this.#held.keys().next().value : undefined
    if (oldest !== undefined) this.#held.delete(oldest)
    return held
  }

  async #release(key: Key, holding: Holding, view: LayoutView): Promise<void> {
    // This only saves others a wait: a claimant that does not see the release waits for the promise to run out.
    await gather(
      view.linesOf(key),
      line => line.change(key, view.epoch, record => released(record, holding)),
      () => false,
    )
  }

  /** Asks the replicas for a change. Only changes that were taken count. */
  #vote(key: Key, view: LayoutView, change: (line: NodeLine) => Promise<Changed>): Promise<Gathered<Changed>> {
    const ask = async (line: NodeLine) => {
      const changed = await change(line)
      if (!changed.isTaken) throw new Error(`node ${line.name} has granted tenure ${changed.record.tenure}`)
      return changed
    }
    return gather(view.linesOf(key), ask, this.#isMajority(key, view))
  }

  #isMajority(key: Key, view: LayoutView) {
    return (answers: ReadonlyMap<string, unknown>) => view.isEnough(key, new Set(answers.keys()), 'QUORUM')
  }

  /** Waits a moment for the last replica too: if it answers as fast as the others, its record need not be read again. */
  async #shortly({ all }: Gathered<unknown>): Promise<void> {
    await Promise.race([all, pause(this.#timing, 1)])
  }

  #watch(watched: Map<string, Watched>, answers: ReadonlyMap<string, Seen>): void {
    const nowMs = this.#timing.nowMs()
    for (const [name, { record }] of answers) {
      const { tenure, beat } = record
      const before = watched.get(name)?.seen
      if (before?.tenure !== tenure || before.beat !== beat)
        watched.set(name, { seen: { tenure, beat }, sinceMs: nowMs })
    }
  }

  /** Whether this beat has not changed for as long as a promise lasts. */
  isSilent({ sinceMs }: Watched): boolean {
    return this.#timing.nowMs() - sinceMs >= this.#options.promiseMs
  }

  #ripe(watched: Watched | undefined): SeenBeat | undefined {
    return watched !== undefined && this.isSilent(watched) ? watched.seen : undefined
  }

  /** How long to wait before trying again. Also leaves a wish in the records, so that the holder knows that we want the key. */
  async #untilRipe(
    key: Key,
    view: LayoutView,
    watched: ReadonlyMap<string, Watched>,
    records: readonly CellRecord[],
  ): Promise<number> {
    const jitterMs = RETRY_MS * (1 + this.#random())
    if (!records.some(({ holder }) => this.#isAnother(holder))) return jitterMs
    await gather(
      view.linesOf(key),
      line => line.change(key, view.epoch, record => wished(record, this.self)),
      this.#isMajority(key, view),
    )
    const nowMs = this.#timing.nowMs()
    const waits = [...watched.values()].map(({ sinceMs }) => sinceMs + this.#options.promiseMs - nowMs)
    return Math.max(jitterMs, Math.min(...waits, this.#options.promiseMs / 4))
  }

  #otherOf(key: Key): OtherHolder | undefined {
    const other = this.#others.get(key)
    return other !== undefined && this.#canAsk(other) ? { other } : undefined
  }

  #noteOther(key: Key, other: string): OtherHolder {
    this.#others.set(key, other)
    const oldest = this.#others.size > this.#options.keysMax ? this.#others.keys().next().value : undefined
    if (oldest !== undefined) this.#others.delete(oldest)
    return { other }
  }

  #isAnother(holder: string): boolean {
    return holder !== NO_COORDINATOR && holder !== this.self && holder !== DISPUTED
  }
}

function latestOf(a: CellRecord, b: CellRecord): CellRecord {
  return compareStamps(a.stamp, b.stamp) >= 0 ? a : b
}

function whyNotClaimed(records: readonly CellRecord[]): string {
  const holders = [...new Set(records.map(({ holder }) => holder))].filter(holder => holder !== NO_COORDINATOR)
  if (holders.length === 0) return 'no coordinator holds it, but no claim was granted by a majority'
  return `${holders.join(', ')} holds it and does not release it`
}
