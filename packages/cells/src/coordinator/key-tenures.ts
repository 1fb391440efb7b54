/**
 * The keys that this coordinator is the holder of: for these it gives timestamps, and knows the last that was committed. As
 * `@freshet/dht, tenures.ts`, over nodes that are engines: the rules of a vote are in `records/cell-record.ts`.
 *
 * Why it is safe, whatever nodes and coordinators do:
 * - Two majorities of a key's replicas have a node in common, and that grants a tenure once. So a tenure has one holder, and as
 *   timestamps begin with it none is given twice.
 * - A write is committed when a majority has taken it under its tenure. Who gets the next tenure sees it in the same step in
 *   which a majority stops taking anything under the last. So the `committed` of a new holder is never below what was
 *   acknowledged; what only some of them had is made sure of before anybody is told.
 * - Between two steps a holder answers by heart for `leaseMs`, counted from before it asked; a claimant waits for `promiseMs` in
 *   which it sees no beat, counted from after it has read one. Clocks may run wrong by `driftMax`; the holder's may run fast, and
 *   goes on while its machine sleeps (`Timing.pessimisticMs`), the claimant's may stand still. So while it answers nobody
 *   else can have got a later tenure, unless it has itself resigned, and then it has stopped before.
 *
 * When the layout changes, keys are claimed anew: see `change-layout.ts` for why that is safe.
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
  NO_STAMP,
  NOBODY,
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
  /** How wrong clocks may run. */
  readonly driftMax: number
  /** How long a claim may take, the wait for others included. */
  readonly claimMsMax: number
  /** Of how many keys it is known that they are ours; then the ones that were not used for longest are forgotten. */
  readonly keysMax: number
}

export const TENURE_DEFAULTS: TenureOptions = { promiseMs: 2000, driftMax: 0.01, claimMsMax: 8000, keysMax: 20_000 }

export interface HeldKey {
  readonly key: Key
  readonly holding: Holding
  readonly epoch: number
  /** The last timestamp that was given. */
  last: Stamp
  /** The highest that a majority is known to have. */
  committed: Stamp
  /** Until then this coordinator may answer by heart, by the clock that goes on while it sleeps. */
  untilMs: number
  /** What nodes had when they were last heard of. */
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
  /** Who had a key when we last wanted it. */
  readonly #others = new Map<Key, string>()
  readonly #claims = new Map<Key, Promise<HeldKey | OtherHolder>>()
  readonly #leaseMs: number
  /** Since it was opened. */
  readonly counts = { claims: 0, renewals: 0, lost: 0 }

  constructor(parts: {
    /** Of this life of this coordinator and of no other: where it can be asked, if it can. */
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

  /** If it is ours, as far as we know; it may have been taken over since. */
  find(key: Key, view: LayoutView): HeldKey | undefined {
    const held = this.#held.get(key)
    if (held === undefined || held.epoch !== view.epoch) return undefined
    this.#held.delete(key)
    this.#held.set(key, held)
    return held
  }

  /** Ours to write under. */
  async forWriting(key: Key, view: LayoutView): Promise<HeldKey | OtherHolder> {
    for (;;) {
      const found = this.find(key, view) ?? this.#otherOf(key) ?? (await this.#claimAlone(key, view))
      if (found !== undefined) return found
    }
  }

  /** Ours, and nobody else can have had it when this was called: so `committed` is the last. */
  async forReading(key: Key, view: LayoutView): Promise<HeldKey | OtherHolder> {
    for (;;) {
      const held = this.find(key, view)
      if (held !== undefined && (this.isLeased(held) || (await this.#renew(key, held, view)))) return held
      const found = this.#otherOf(key) ?? (await this.#claimAlone(key, view))
      if (found !== undefined) return found
    }
  }

  /** It did not answer, or has not the key any more. */
  forgetOther(key: Key): void {
    this.#others.delete(key)
  }

  /** The same, but ours in any case: who has the key is not asked, but asked to give it up. */
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

  /** A majority has taken something under our tenure, asked at that time. */
  confirm(held: HeldKey, stamp: Stamp, askedMs: number): void {
    held.committed = laterStamp(held.committed, stamp)
    held.untilMs = Math.max(held.untilMs, askedMs + this.#leaseMs)
  }

  drop(key: Key, held: HeldKey): void {
    if (this.#held.get(key) !== held) return
    this.counts.lost++
    this.#held.delete(key)
  }

  /** The same cell everywhere, under our tenure; until a majority has it or a later one. */
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

  /** Resigns, so that nobody need wait for us. */
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
        isWished ||= record.wish !== NOBODY && record.wish !== this.self
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
   * Those who want the same key at once have one claim: with two, the one that failed would take back by the tenure's number what the
   * other was granted. Undefined if there was one already. What came of it is then to be looked at anew: it was under another layout,
   * perhaps, or so long ago that its time is over.
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
      if (this.#timing.nowMs() > endMs) throw noHolder(key, `${holdersOf(records)} has it and does not give it up`)
      await pause(this.#timing, await this.#untilRipe(key, view, watched, records))
    }
  }

  /** Whether a majority would grant it now. A claim that only a minority grants would stand in the holder's way. */
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

  /** What only some of the majority had is made sure of: the next holder might ask others. */
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
    // Only to spare others a wait: who does not hear of it waits.
    await gather(
      view.linesOf(key),
      line => line.change(key, view.epoch, record => released(record, holding)),
      () => false,
    )
  }

  /** Only changes that were taken count. */
  #vote(key: Key, view: LayoutView, change: (line: NodeLine) => Promise<Changed>): Promise<Gathered<Changed>> {
    const ask = async (line: NodeLine) => {
      const changed = await change(line)
      if (!changed.isTaken) throw new Error(`node ${line.name} has given tenure ${changed.record.tenure}`)
      return changed
    }
    return gather(view.linesOf(key), ask, this.#isMajority(key, view))
  }

  #isMajority(key: Key, view: LayoutView) {
    return (answers: ReadonlyMap<string, unknown>) => view.isEnough(key, new Set(answers.keys()), 'QUORUM')
  }

  /** The last replica too, if it answers as fast as the others: what it has need not be waited for again then. */
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

  /** For as long as a promise lasts. */
  isSilent({ sinceMs }: Watched): boolean {
    return this.#timing.nowMs() - sinceMs >= this.#options.promiseMs
  }

  #ripe(watched: Watched | undefined): SeenBeat | undefined {
    return watched !== undefined && this.isSilent(watched) ? watched.seen : undefined
  }

  /** How long to wait before trying again. Whoever has the key is told that somebody would like it. */
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
    return holder !== NOBODY && holder !== this.self && holder !== DISPUTED
  }
}

function latestOf(a: CellRecord, b: CellRecord): CellRecord {
  return compareStamps(a.stamp, b.stamp) >= 0 ? a : b
}

function holdersOf(records: readonly CellRecord[]): string {
  return [...new Set(records.map(({ holder }) => holder))].filter(holder => holder !== NOBODY).join(', ') || 'nobody'
}
