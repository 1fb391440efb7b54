/**
 * The layout, as its nodes have it: which nodes there are, how keys are spread over them, and how far a change has come. Every
 * node keeps the layout in one record, and every change on that node is conditional on its version (`coordinator/node-line.ts`):
 * so no coordinator changes anything under an older layout than the node's.
 */
import type { Key } from '@freshet/core/store'
import { FreshetError, isName } from '@freshet/protocol'
import { PARTITIONERS, type PartitionerName } from './partitioner.js'

export interface LayoutNode {
  readonly name: string
  /**
   * How the node is reached: redis://..., postgres://..., http://..., a folder; empty if only the process that opened it knows.
   */
  readonly address: string
  readonly rack: string
  readonly dataCentre: string
  /** Where the node's range begins, if keys are ordered. */
  readonly from?: Key
}

export interface CellsLayout {
  /** Grows with every change. */
  readonly epoch: number
  /** Coordinators authenticate to each other with it. */
  readonly secret: string
  readonly nodes: readonly LayoutNode[]
  /** While records are being moved: the nodes before the change. Operations then need enough of the replicas by both lists. */
  readonly before?: readonly LayoutNode[]
  /** How many replicas a key has; or how many in each data centre. */
  readonly factor: number | Readonly<Record<string, number>>
  readonly partitioner: PartitionerName
  /**
   * From 1. Above the tenure of every tombstone that was collected: a key that is written again begins after it. Tenure 0 is for
   * stamps that were decided elsewhere.
   */
  readonly floor: number
}

/** The layout keeps its own records in this namespace, which cells cannot use. */
export const CELLS_NAMESPACE = 'freshet-ring'
export const LAYOUT_KEY: Key = `${CELLS_NAMESPACE}/state/ring`
/** The layout that comes next, as decided by a majority of all nodes. */
export const CHANGE_KEY: Key = `${CELLS_NAMESPACE}/state/change`
const HINTS = 'hints-'

export function hintsBucket(node: string): Key {
  return `${CELLS_NAMESPACE}/${HINTS}${node}`
}

export const FACTOR_DEFAULT = 3
const NODE_NAME_LENGTH_MAX = 40

/** Throws RING_UNUSABLE, with a message that says why. */
export function checkLayout({ nodes, factor, partitioner }: CellsLayout): void {
  const objection = objectionTo(nodes, factor, partitioner)
  if (objection !== undefined)
    throw new FreshetError('RING_UNUSABLE', `The layout of the ring is not valid: ${objection}.`)
}

function objectionTo(
  nodes: readonly LayoutNode[],
  factor: CellsLayout['factor'],
  partitioner: PartitionerName,
): string | undefined {
  const wrong = nodes.find(({ name }) => !isName(name) || name.length > NODE_NAME_LENGTH_MAX)
  if (wrong !== undefined) return `${JSON.stringify(wrong.name)} is not a valid name; use 1 to 40 of a-z, 0-9, - and _`
  if (new Set(nodes.map(({ name }) => name)).size < nodes.length) return 'two nodes have the same name'
  if (!PARTITIONERS.includes(partitioner)) return `the partitioner must be ${PARTITIONERS.join(' or ')}`
  const starts = new Set(nodes.map(({ from = '' }) => from))
  if (partitioner === 'ordered' && starts.size < nodes.length) return 'two nodes begin `from` the same key'
  if (typeof factor === 'number') return objectionToFactor(factor, nodes.length, 'nodes')
  for (const [dataCentre, replicas] of Object.entries(factor)) {
    const there = nodes.filter(node => node.dataCentre === dataCentre).length
    const objection = objectionToFactor(replicas, there, `nodes in ${dataCentre}`)
    if (objection !== undefined) return objection
  }
  return Object.keys(factor).length === 0 ? 'no data centre has replicas' : undefined
}

function objectionToFactor(factor: number, nodes: number, what: string): string | undefined {
  if (!Number.isSafeInteger(factor) || factor < 1) return `a key must have at least 1 replica, not ${factor}`
  return factor > nodes ? `a key has ${factor} replicas, and there are ${nodes} ${what}` : undefined
}

/** Whether the bucket holds the layout's own records, not cells of a user. */
export function isOwnBucket(bucket: Key): boolean {
  return bucket.startsWith(`${CELLS_NAMESPACE}/`)
}

export function encodeLayout(layout: CellsLayout): Uint8Array {
  return Buffer.from(JSON.stringify(layout))
}
