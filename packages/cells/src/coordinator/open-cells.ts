/** Opens a layout over nodes, or creates one over nodes that belong to none yet. */
import { randomInt, randomUUID } from 'node:crypto'
import type { Store } from '@freshet/core/store'
import type { HealthOptions } from '../health/index.js'
import { type CellsLayout, checkLayout, FACTOR_DEFAULT, type LayoutNode } from '../layout/cells-layout.js'
import type { PartitionerName } from '../layout/partitioner.js'
import type { Node } from '../nodes/node.js'
import { createStoreNode } from '../nodes/store-node.js'
import { Cells } from './cells.js'
import { CoordinatorLine, type ListenOptions } from './coordinator-line.js'
import { TENURE_DEFAULTS, type TenureOptions } from './key-tenures.js'
import { NodeLine } from './node-line.js'
import type { OtherCoordinators } from './other-coordinators.js'
import { cellsUnusable } from './refusals.js'
import { PROCESS_TIMING, pause, type Timing } from './timing.js'

export interface NodeSource {
  readonly name: string
  /** Closed when the cells are closed, and if they cannot be opened. */
  readonly node: Node | Store
  readonly address?: string
  /** The defaults, `rack` and `here`, make all nodes alike. */
  readonly rack?: string
  readonly dataCentre?: string
  /** With the partitioner `ordered`: where the node's range begins. */
  readonly from?: string
}

export interface CellsOptions {
  readonly nodes: readonly NodeSource[]
  /** For a new layout: replicas of each key, or how many in each data centre; default 3, or as many as there are nodes. */
  readonly factor?: CellsLayout['factor']
  /** For a new layout; default `hash`. */
  readonly partitioner?: PartitionerName
  /** Whether to create a layout if the nodes have none; default true. */
  readonly creates?: boolean
  /** Opens a node that joins later; without it this coordinator cannot reach such a node. */
  readonly openNode?: (node: LayoutNode) => Node
  /** How far away a node is: nearer nodes are asked first. Default: all are equally near. */
  readonly distance?: (node: LayoutNode) => number
  /** Where other coordinators ask this one for the keys that it holds. Without it they wait until it releases the keys. */
  readonly listen?: ListenOptions
  /** Instead of `listen`: another way to ask the other coordinators, and the name by which they know this one. */
  readonly others?: OtherCoordinators
  readonly self?: string
  readonly tenures?: Partial<TenureOptions>
  readonly health?: HealthOptions
  /** The share of reads at ONE that compare all replicas afterwards; default 0.1. */
  readonly repairShare?: number
  /** How many hints may wait for one node; default 10,000. */
  readonly hintsMax?: number
  /** How often hints are delivered; default 1000. 0: only when `deliverHints` is called. */
  readonly hintsEveryMs?: number
  readonly onWarning?: (warning: string) => void
  readonly timing?: Timing
  readonly random?: () => number
}

const REPAIR_SHARE = 0.1
const HINTS_MAX = 10_000
const HINTS_EVERY_MS = 1000
/** How long a coordinator waits for another one to finish creating a layout. */
const FOUNDING_MS = 100

/** Throws RING_UNUSABLE if these nodes have no layout and cannot get one, RING_UNAVAILABLE if no majority of them answers. */
export async function openCells(options: CellsOptions): Promise<Cells> {
  const nodes = new Map(options.nodes.map(({ name, node }) => [name, 'read' in node ? node : createStoreNode(node)]))
  try {
    return await openOver(nodes, options)
  } catch (error) {
    await Promise.allSettled([...nodes.values()].map(node => node.close()))
    throw error
  }
}

async function openOver(nodes: Map<string, Node>, options: CellsOptions): Promise<Cells> {
  const { timing = PROCESS_TIMING, random = () => randomInt(2 ** 47) / 2 ** 47 } = options
  const described = options.nodes.map(describeNode)
  const fallback: CellsLayout = {
    ...{ epoch: 1, secret: randomUUID(), nodes: described, floor: 1, partitioner: options.partitioner ?? 'hash' },
    factor: options.factor ?? Math.min(FACTOR_DEFAULT, described.length),
  }
  const layout = await findLayout(fallback, nodes, timing, options.creates ?? true)
  const line = options.listen && (await CoordinatorLine.open(options.listen))
  const cells = new Cells({
    ...{ layout, nodes, timing, random },
    openNode: options.openNode ?? notOpened,
    distance: options.distance ?? (() => 0),
    self: options.self ?? line?.self ?? randomUUID(),
    others: options.others ?? line,
    onClose: async () => line?.close(),
    tenures: { ...TENURE_DEFAULTS, ...options.tenures },
    health: options.health,
    repairShare: options.repairShare ?? REPAIR_SHARE,
    hintsMax: options.hintsMax ?? HINTS_MAX,
    onWarning: options.onWarning ?? (() => {}),
  })
  line?.serve(cells, layout.secret)
  deliverEvery(cells, options.hintsEveryMs ?? HINTS_EVERY_MS)
  return cells
}

function describeNode({ name, address = '', rack = 'rack', dataCentre = 'here', from }: NodeSource): LayoutNode {
  return { name, address, rack, dataCentre, ...(from === undefined ? {} : { from }) }
}

/** Returns the latest layout that the nodes know. If all answer and none knows a layout, creates one. */
async function findLayout(
  fallback: CellsLayout,
  nodes: ReadonlyMap<string, Node>,
  timing: Timing,
  creates: boolean,
): Promise<CellsLayout> {
  checkLayout(fallback)
  const keeper = { layout: fallback, adopt: () => {} }
  const lines = [...nodes].map(([name, node]) => new NodeLine(name, node, { timing, keeper }))
  const found = await Promise.allSettled(lines.map(line => line.readLayout()))
  const layouts = found.flatMap(each => (each.status === 'fulfilled' && each.value ? [each.value.layout] : []))
  checkOneLayout(lines, found)
  const latest = layouts.reduce<CellsLayout | undefined>((a, b) => (a && a.epoch >= b.epoch ? a : b), undefined)
  if (latest !== undefined) return latest
  const missing = lines.filter((_, i) => found[i]!.status === 'rejected').map(({ name }) => name)
  if (missing.length > 0) throw cellsUnusable(`it is new, and ${missing.join(', ')} did not answer; start all nodes`)
  if (!creates) throw cellsUnusable('no node knows it yet; create it with freshet ring init')
  // One after the other, in the same order in every process: the process that comes second to the first node takes the layout of
  // the other process.
  for (const line of [...lines].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (await line.install(fallback, 0)) continue
    await pause(timing, FOUNDING_MS)
    return findLayout(fallback, nodes, timing, creates)
  }
  return fallback
}

type Found = PromiseSettledResult<{ readonly layout: CellsLayout } | undefined>

function checkOneLayout(lines: readonly NodeLine[], found: readonly Found[]): void {
  const names = new Map<string, string[]>()
  for (const [i, each] of found.entries()) {
    if (each.status === 'rejected' || each.value === undefined) continue
    const { secret } = each.value.layout
    names.set(secret, [...(names.get(secret) ?? []), lines[i]!.name])
  }
  if (names.size < 2) return
  const groups = [...names.values()].map(group => group.join(', ')).join(' to one, ')
  throw cellsUnusable(`its nodes belong to different rings: ${groups} to another. Check their addresses`)
}

/** The pause begins when a delivery is over, so deliveries never overlap. */
function deliverEvery(cells: Cells, everyMs: number): void {
  if (everyMs === 0 || cells.isClosed) return
  const deliver = async () => {
    // Hints that were not delivered wait for the next delivery.
    await cells.deliverHints().catch(() => {})
    deliverEvery(cells, everyMs)
  }
  cells.timing.after(everyMs, () => {
    if (!cells.isClosed) cells.background(deliver())
  })
}

function notOpened({ name }: LayoutNode): Node {
  throw cellsUnusable(`node ${name} has joined it, and this process cannot reach that node without the option openNode`)
}
