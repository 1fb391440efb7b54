/** The layout as one operation sees it from beginning to end: where the replicas of a key are, nearest first. */
import type { Key } from '@freshet/core/store'
import { type CellsLayout, CHANGE_KEY, type LayoutNode } from '../layout/cells-layout.js'
import { createPlacement, type Placement } from '../layout/placement.js'
import { isEnough, type ReadLevel, type WriteLevel } from '../records/index.js'
import type { NodeLine } from './node-line.js'

export class LayoutView {
  readonly layout: CellsLayout
  readonly placement: Placement
  readonly #before: Placement | undefined
  readonly #lines: ReadonlyMap<string, NodeLine>
  #sets: readonly (readonly string[])[] | undefined
  readonly #distance: (node: LayoutNode) => number

  constructor(layout: CellsLayout, lines: ReadonlyMap<string, NodeLine>, distance: (node: LayoutNode) => number) {
    this.layout = layout
    this.placement = createPlacement(layout.nodes, layout)
    this.#before = layout.before && createPlacement(layout.before, layout)
    this.#lines = lines
    this.#distance = distance
  }

  get epoch(): number {
    return this.layout.epoch
  }

  /** The sets of replicas of a key. While the layout changes there are two. */
  setsOf(key: Key): readonly (readonly string[])[] {
    if (key === CHANGE_KEY) return this.#everybody()
    const now = this.placement.replicasOf(key)
    return this.#before === undefined ? [now] : [this.#before.replicasOf(key), now]
  }

  /** Every set of replicas that some key has. */
  allSets(): readonly (readonly string[])[] {
    this.#sets ??= [...this.placement.ranges(), ...(this.#before?.ranges() ?? [])].map(({ replicas }) => replicas)
    return this.#sets
  }

  isEnough(key: Key, names: ReadonlySet<string>, level: ReadLevel | WriteLevel): boolean {
    return isEnough(names, this.setsOf(key), level)
  }

  /** All replicas of a key. */
  linesOf(key: Key): readonly NodeLine[] {
    return this.linesNamed(new Set(this.setsOf(key).flat()))
  }

  /**
   * Nearest first, suspected nodes last. While the layout changes, replicas that the key only will have come after all others.
   */
  nearest(key: Key): readonly NodeLine[] {
    const first = this.setsOf(key)[0]!
    const far = new Map(
      [...(this.layout.before ?? []), ...this.layout.nodes].map(node => [node.name, this.#distance(node)]),
    )
    const rank = ({ name, health }: NodeLine) =>
      (first.includes(name) ? 0 : 1e7) + (health.isSuspected ? 1e6 : 0) + (far.get(name) ?? 1e3)
    const speed = (line: NodeLine) => line.health.answerMs ?? 0
    return [...this.linesOf(key)].sort((a, b) => rank(a) - rank(b) || speed(a) - speed(b))
  }

  /** As `nearest`, without replicas that the key only will have: they need not have it yet. */
  nearestSettled(key: Key): readonly NodeLine[] {
    const first = this.setsOf(key)[0]!
    return this.nearest(key).filter(({ name }) => first.includes(name))
  }

  /** The lines to all nodes that belong to the layout, or did when it began to change. */
  allLines(): readonly NodeLine[] {
    return this.linesNamed(new Set([...this.layout.nodes, ...(this.layout.before ?? [])].map(({ name }) => name)))
  }

  /** On the layout itself all nodes vote. */
  #everybody(): readonly (readonly string[])[] {
    const { nodes, before } = this.layout
    return [...(before === undefined ? [] : [before]), nodes].map(each => each.map(({ name }) => name))
  }

  linesNamed(names: Iterable<string>): readonly NodeLine[] {
    return [...names].flatMap(name => this.#lines.get(name) ?? [])
  }
}
