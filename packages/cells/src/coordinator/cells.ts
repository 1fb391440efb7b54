/**
 * A replicated key-value store whose nodes are existing stores. Any process that opens it is a coordinator. All coordinators are
 * equal: everything that must be remembered is in the nodes.
 *
 * Keys are those of stores, `shop/products/42`. A cell has a value or a tombstone, and a stamp; a node replaces a cell only by a
 * later one. For each operation the caller says how many replicas must take part (`records/level.ts`). See docs/guides/ring.md.
 */
import type { Key } from '@freshet/core/store'
import { bucketOfKey, idOfKey } from '@freshet/protocol'
import type { HealthOptions } from '../health/index.js'
import { CELLS_NAMESPACE, type CellsLayout, type LayoutNode } from '../layout/cells-layout.js'
import type { Node } from '../nodes/node.js'
import type { CellValue, ReadLevel, Stamp, WriteLevel } from '../records/index.js'
import { type CellRead, CellReads } from './cell-reads.js'
import { CellWrites, type CellWritten, KeyLost, type Next } from './cell-writes.js'
import { type DeliveryReport, Hints } from './hints.js'
import { type HeldKey, KeyTenures, type TenureOptions } from './key-tenures.js'
import { LayoutView } from './layout-view.js'
import { LayoutChanged, type LayoutKeeper, NodeLine } from './node-line.js'
import { NOBODY_ELSE, type OtherCoordinators } from './other-coordinators.js'
import { cellsUnusable, noHolder } from './refusals.js'
import { type CellPage, type CellRange, type ScanLevel, scanCells } from './scan-cells.js'
import type { Timing } from './timing.js'

export interface CellsParts {
  readonly layout: CellsLayout
  /** By name. */
  readonly nodes: ReadonlyMap<string, Node>
  /** Opens nodes that join later. */
  readonly openNode: (node: LayoutNode) => Node
  /** How far nodes are from here; see `layout/snitch.ts`. */
  readonly distance: (node: LayoutNode) => number
  readonly timing: Timing
  /** From 0 up to but not including 1. */
  readonly random: () => number
  /** The name of this life of this coordinator. */
  readonly self: string
  readonly others?: OtherCoordinators | undefined
  readonly onClose?: () => Promise<void>
  readonly tenures: TenureOptions
  readonly health?: HealthOptions | undefined
  readonly repairShare: number
  readonly hintsMax: number
  readonly onWarning: (warning: string) => void
}

export interface WriteOptions {
  /**
   * A stamp that was decided elsewhere, with tenure 0: the later cell stays, and writing it again does no harm. Such cells are
   * not read at CURRENT, and their tombstones are not collected. Without this option the key's holder gives a stamp.
   */
  readonly stamp?: Stamp
}

/** How often an operation begins again because the layout changed, or another coordinator took the key. */
const RESTARTS_MAX = 12

export class Cells implements LayoutKeeper {
  readonly tenures: KeyTenures
  readonly hints: Hints
  readonly reads: CellReads
  readonly timing: Timing
  readonly onWarning: (warning: string) => void
  readonly #writes: CellWrites
  readonly #parts: CellsParts
  readonly #lines = new Map<string, NodeLine>()
  readonly #background = new Set<Promise<unknown>>()
  #view: LayoutView
  #delivering: Promise<DeliveryReport> | undefined
  #isClosed = false

  constructor(parts: CellsParts) {
    this.#parts = parts
    this.timing = parts.timing
    this.onWarning = parts.onWarning
    const { timing, random, self } = parts
    const others = parts.others ?? NOBODY_ELSE
    const canAsk = (holder: string) => others.canAsk(holder)
    this.tenures = new KeyTenures({ self, timing, random, options: parts.tenures, canAsk })
    this.hints = new Hints(parts.hintsMax)
    const background = (work: Promise<unknown>) => this.background(work)
    this.reads = new CellReads({ tenures: this.tenures, others, random, repairShare: parts.repairShare, background })
    const writer = 1 + Math.floor(random() * 2 ** 47)
    const { tenures, hints } = this
    this.#writes = new CellWrites({ tenures, hints, timing, writer, others })
    this.#view = this.#viewOf(parts.layout)
  }

  get layout(): CellsLayout {
    return this.#view.layout
  }

  get view(): LayoutView {
    return this.#view
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  get lines(): readonly NodeLine[] {
    return this.#view.allLines()
  }

  adopt(layout: CellsLayout): void {
    if (layout.epoch > this.layout.epoch) this.#view = this.#viewOf(layout)
  }

  /** Throws RING_UNAVAILABLE if too few replicas answer, or, with CURRENT, if there is no majority. */
  read(key: Key, level: ReadLevel = 'QUORUM'): Promise<CellRead> {
    checkKey(key)
    return this.restarting(key, view => this.reads.read(key, level, view))
  }

  /**
   * No value: writes a tombstone. Throws RING_UNAVAILABLE, whose `details.outcome` says whether the write may nevertheless have
   * been done.
   */
  write(
    key: Key,
    value: CellValue | undefined,
    level: WriteLevel = 'QUORUM',
    { stamp }: WriteOptions = {},
  ): Promise<CellWritten> {
    checkKey(key)
    if (stamp === undefined) {
      return this.restarting(key, () => this.#writes.write(key, value, level, () => this.#view))
    }
    if (stamp.tenure !== 0) throw new TypeError('A stamp that was decided elsewhere must have tenure 0.')
    return this.restarting(key, view => this.#writes.put(key, { stamp, value }, level, view))
  }

  /**
   * Replaces a value by what `next` returns for it, unless that is undefined. No other write comes in between. This coordinator
   * must be able to become the key's holder. Throws as `write` does.
   */
  update(key: Key, next: Next): Promise<CellRead> {
    const current = (held: HeldKey, view: LayoutView) => this.reads.readHeld(key, held, view)
    return this.restarting(key, () => this.#writes.update(key, next, current, () => this.#view))
  }

  scan(bucket: Key, range: CellRange = {}, level: ScanLevel = 'QUORUM'): Promise<CellPage> {
    checkKey(`${bucket}/x`)
    return this.restarting(bucket, view => scanCells(bucket, range, level, view))
  }

  /**
   * For another coordinator that asks; undefined if we do not hold the key, or our layout has another epoch. See
   * `other-coordinators.ts`.
   */
  lastHere(key: Key, epoch: number): Promise<Stamp | undefined> {
    return this.restarting(key, async view => (view.epoch === epoch ? this.reads.lastHere(key, view) : undefined))
  }

  readHere(key: Key): Promise<CellRead | undefined> {
    return this.restarting(key, view => this.reads.readHere(key, view))
  }

  writeHere(key: Key, value: CellValue | undefined, level: WriteLevel): Promise<CellWritten | undefined> {
    return this.restarting(key, () => this.#writes.writeHere(key, value, level, () => this.#view))
  }

  /** The other coordinators, as far as they are known: those that this one has met, and those that they know of. */
  coordinators(): readonly { readonly name: string; readonly isSuspected: boolean }[] {
    return this.#parts.others?.coordinators() ?? []
  }

  /**
   * Delivers hints, after deliveries that are under way already. Returns how many were delivered, and how many are left on the
   * nodes that answer.
   */
  deliverHints(): Promise<DeliveryReport> {
    const before = this.#delivering
    const deliver = () => this.restarting('hints', view => this.hints.deliver(view, () => this.#isClosed))
    this.#delivering = before === undefined ? deliver() : before.then(deliver, deliver)
    return this.#delivering
  }

  /**
   * Runs an operation, and runs it again if a change of the layout, or of the key's holder, stopped it before it did anything.
   */
  async restarting<Result>(what: string, operation: (view: LayoutView) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await operation(this.#view)
      } catch (error) {
        if (!(error instanceof LayoutChanged || error instanceof KeyLost)) throw error
        if (attempt === RESTARTS_MAX) throw noHolder(what, 'the ring or the holder of the key keeps changing')
      }
    }
  }

  /** Work that continues after the answer. Its failures do not matter: a later operation does it again. */
  background(work: Promise<unknown>): void {
    const done: Promise<unknown> = work.catch(() => {}).finally(() => this.#background.delete(done))
    this.#background.add(done)
  }

  /** Waits until all background work is done. */
  async quiet(): Promise<void> {
    while (this.#background.size > 0) await Promise.all(this.#background)
  }

  /** The line to a node that need not belong to the layout yet. */
  lineTo(node: LayoutNode): NodeLine {
    const known = this.#lines.get(node.name)
    if (known !== undefined) return known
    const { nodes, openNode, timing, health } = this.#parts
    const line = new NodeLine(node.name, nodes.get(node.name) ?? openNode(node), { timing, keeper: this, health })
    this.#lines.set(node.name, line)
    return line
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#parts.onClose?.()
    await this.quiet()
    await this.tenures.resignAll(() => this.#view)
    await Promise.all([...this.#lines.values()].map(line => line.close()))
  }

  #viewOf(layout: CellsLayout): LayoutView {
    for (const node of [...layout.nodes, ...(layout.before ?? [])]) this.lineTo(node)
    return new LayoutView(layout, this.#lines, this.#parts.distance)
  }
}

function checkKey(key: Key): void {
  if (bucketOfKey(key).startsWith(`${CELLS_NAMESPACE}/`))
    throw cellsUnusable(`${key} is in the namespace of its own records`)
  if (idOfKey(key) === undefined)
    throw new TypeError(`${JSON.stringify(key)} is not a key of the form namespace/bucket/id.`)
}
