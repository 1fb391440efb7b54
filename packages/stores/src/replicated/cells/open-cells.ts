/** Opens a ring over nodes, or makes one of nodes that belong to none yet. */
import { randomInt, randomUUID } from 'node:crypto'
import type { HealthOptions } from '@freshet/core/membership'
import type { Store } from '@freshet/core/store'
import type { PartitionerName } from '../ring/partitioner.js'
import { checkRing, FACTOR_DEFAULT, type RingNode, type RingState } from '../ring/ring-state.js'
import { Cells } from './cells.js'
import { CoordinatorLine, type ListenOptions } from './coordinator-line.js'
import type { Elsewhere } from './elsewhere.js'
import { TENURE_DEFAULTS, type TenureOptions } from './key-tenures.js'
import type { Node } from './node.js'
import { NodeLine } from './node-line.js'
import { ringUnusable } from './refusals.js'
import { createStoreNode } from './store-node.js'
import { PROCESS_TIMING, pause, type Timing } from './timing.js'

export interface NodeSource {
  readonly name: string
  /** Closed with the cells. */
  readonly node: Node | Store
  readonly address?: string
  /** Default: `rack`, `here`: all nodes are alike. */
  readonly rack?: string
  readonly dataCentre?: string
  /** With the partitioner `ordered`: where its stretch begins. */
  readonly from?: string
}

export interface CellsOptions {
  readonly nodes: readonly NodeSource[]
  /** Of a ring that is made. Replicas of each key, 3 or as many as there are nodes; or how many in each data centre. */
  readonly factor?: RingState['factor']
  /** Of a ring that is made; `hash` unless told otherwise. */
  readonly partitioner?: PartitionerName
  /** Whether a ring is made of nodes that know none; true unless told otherwise. */
  readonly creates?: boolean
  /** Opens a node that has joined since; without it such a node cannot be asked. */
  readonly openNode?: (node: RingNode) => Node
  /** How far a node is; those nearer are asked first. All alike unless told otherwise. */
  readonly distance?: (node: RingNode) => number
  /** Where other coordinators may ask this one for the keys that it holds. Without it they wait until it gives them up. */
  readonly listen?: ListenOptions
  /** Another way than `listen`, and the name by which others know this coordinator. */
  readonly elsewhere?: Elsewhere
  readonly self?: string
  readonly tenures?: Partial<TenureOptions>
  readonly health?: HealthOptions
  /** How often a read at ONE compares all replicas afterwards; 0.1. */
  readonly repairShare?: number
  /** Hints that wait for one node, at most; 10,000. */
  readonly hintsMax?: number
  /** How often hints are delivered; 1000. 0: only when `deliverHints` is called. */
  readonly hintsEveryMs?: number
  readonly onWarning?: (warning: string) => void
  readonly timing?: Timing
  readonly random?: () => number
}

const REPAIR_SHARE = 0.1
const HINTS_MAX = 10_000
const HINTS_EVERY_MS = 1000
/** How long who makes a ring is left to finish. */
const FOUNDING_MS = 100

/** Throws RING_UNUSABLE if these nodes are no ring and cannot become one, RING_UNAVAILABLE if no majority of them answers. */
export async function openCells(options: CellsOptions): Promise<Cells> {
  const { timing = PROCESS_TIMING, random = () => randomInt(2 ** 47) / 2 ** 47 } = options
  const nodes = new Map(options.nodes.map(({ name, node }) => [name, 'read' in node ? node : createStoreNode(node)]))
  const described = options.nodes.map(describeNode)
  const fallback: RingState = {
    ...{ epoch: 1, secret: randomUUID(), nodes: described, floor: 1, partitioner: options.partitioner ?? 'hash' },
    factor: options.factor ?? Math.min(FACTOR_DEFAULT, described.length),
  }
  const ring = await findRing(fallback, nodes, timing, options.creates ?? true)
  const line = options.listen && (await CoordinatorLine.open(options.listen))
  const cells = new Cells({
    ...{ ring, nodes, timing, random },
    openNode: options.openNode ?? notOpened,
    distance: options.distance ?? (() => 0),
    self: options.self ?? line?.self ?? randomUUID(),
    elsewhere: options.elsewhere ?? line,
    onClose: async () => line?.close(),
    tenures: { ...TENURE_DEFAULTS, ...options.tenures },
    health: options.health,
    repairShare: options.repairShare ?? REPAIR_SHARE,
    hintsMax: options.hintsMax ?? HINTS_MAX,
    onWarning: options.onWarning ?? (() => {}),
  })
  line?.serve(cells, ring.secret)
  deliverEvery(cells, options.hintsEveryMs ?? HINTS_EVERY_MS)
  return cells
}

function describeNode({ name, address = '', rack = 'rack', dataCentre = 'here', from }: NodeSource): RingNode {
  return { name, address, rack, dataCentre, ...(from === undefined ? {} : { from }) }
}

/** The latest ring that the nodes know; if none knows any, and all answer, the one that they are made into. */
async function findRing(
  fallback: RingState,
  nodes: ReadonlyMap<string, Node>,
  timing: Timing,
  creates: boolean,
): Promise<RingState> {
  checkRing(fallback)
  const keeper = { ring: fallback, adopt: () => {} }
  const lines = [...nodes].map(([name, node]) => new NodeLine(name, node, { timing, keeper }))
  const found = await Promise.allSettled(lines.map(line => line.readRing()))
  const rings = found.flatMap(each => (each.status === 'fulfilled' && each.value ? [each.value.ring] : []))
  checkOneRing(lines, found)
  const latest = rings.reduce<RingState | undefined>((a, b) => (a && a.epoch >= b.epoch ? a : b), undefined)
  if (latest !== undefined) return latest
  const missing = lines.filter((_, i) => found[i]!.status === 'rejected').map(({ name }) => name)
  if (missing.length > 0) throw ringUnusable(`it is new, and ${missing.join(', ')} cannot be asked; start all nodes`)
  if (!creates) throw ringUnusable('no node knows it yet; make it with freshet ring init')
  // One after the other, the same first for everybody: who comes second there takes the ring of the other, and makes none of its own.
  for (const line of [...lines].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (await line.install(fallback, 0)) continue
    await pause(timing, FOUNDING_MS)
    return findRing(fallback, nodes, timing, creates)
  }
  return fallback
}

type Found = PromiseSettledResult<{ readonly ring: RingState } | undefined>

function checkOneRing(lines: readonly NodeLine[], found: readonly Found[]): void {
  const names = new Map<string, string[]>()
  for (const [i, each] of found.entries()) {
    if (each.status === 'rejected' || each.value === undefined) continue
    const { secret } = each.value.ring
    names.set(secret, [...(names.get(secret) ?? []), lines[i]!.name])
  }
  if (names.size < 2) return
  const groups = [...names.values()].map(group => group.join(', ')).join(' to one, ')
  throw ringUnusable(`its nodes belong to different rings: ${groups} to another. See that their addresses are right`)
}

/** So long after the last time was over: one that takes long is not overtaken by the next. */
function deliverEvery(cells: Cells, everyMs: number): void {
  if (everyMs === 0 || cells.isClosed) return
  const deliver = async () => {
    // What could not be delivered waits for the next time.
    await cells.deliverHints().catch(() => {})
    deliverEvery(cells, everyMs)
  }
  cells.timing.after(everyMs, () => {
    if (!cells.isClosed) cells.background(deliver())
  })
}

function notOpened({ name }: RingNode): Node {
  throw ringUnusable(`node ${name} has joined it, and this process was not told how to reach it`)
}
