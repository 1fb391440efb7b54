/**
 * The cells file: how this process reaches the nodes. The nodes themselves know the layout; the file describes it only for a
 * layout that is being created. See docs/guides/ring.md.
 *
 *     { "nodes": [{ "name": "a", "address": "redis://10.0.1.1" }, ...], "factor": 3, "partitioner": "hash", "snitch": "simple",
 *       "here": { "dataCentre": "0", "rack": "1" } }
 */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { FreshetError, repeatedMember } from '@freshet/protocol'
import type { CellsLayout, LayoutNode } from '../layout/cells-layout.js'
import { PARTITIONERS, type PartitionerName } from '../layout/partitioner.js'
import {
  addressSnitch,
  distanceFrom,
  fileSnitch,
  type Snitch,
  simpleSnitch,
  type Whereabouts,
} from '../layout/snitch.js'
import { type NodeAccess, openNodeAt } from '../nodes/open-node.js'
import type { CellsOptions, NodeSource } from './open-cells.js'

interface FileNode extends Partial<Whereabouts> {
  readonly name: string
  readonly address: string
  readonly from?: string
}

interface CellsFileText {
  readonly nodes: readonly FileNode[]
  readonly factor?: CellsLayout['factor']
  readonly partitioner?: PartitionerName
  readonly snitch?: 'simple' | 'addresses' | { readonly file: string }
  readonly here?: Partial<Whereabouts>
}

export interface CellsFile extends Pick<CellsFileText, 'factor' | 'partitioner'> {
  readonly nodes: readonly LayoutNode[]
  readonly here: Partial<Whereabouts>
  /** Says where a node is that is not in the file. */
  readonly snitch: Snitch
}

const MEMBERS = ['nodes', 'factor', 'partitioner', 'snitch', 'here']
const PLACE_MEMBERS = ['rack', 'dataCentre']
const NODE_MEMBERS = ['name', 'address', 'from', ...PLACE_MEMBERS]
const SNITCH_MEMBERS = ['file']

/** Throws CONFIG_INVALID, with a message that says what is wrong. */
export function readCellsFile(path: string): CellsFile {
  const text = readText(path)
  let read: Partial<CellsFileText>
  try {
    read = JSON.parse(text) as Partial<CellsFileText>
  } catch (cause) {
    throw new FreshetError('CONFIG_INVALID', `${path} is not JSON: ${(cause as Error).message}`, { cause })
  }
  const twice = repeatedMember(text)
  const objection = twice === undefined ? objectionTo(read) : `it has ${JSON.stringify(twice)} twice in one object`
  if (objection !== undefined) throw new FreshetError('CONFIG_INVALID', `${path}: ${objection}.`)
  const { nodes, factor, partitioner, snitch, here = {} } = read as CellsFileText
  const where = snitchOf(snitch, path)
  return {
    ...(factor === undefined ? {} : { factor }),
    ...(partitioner === undefined ? {} : { partitioner }),
    ...{ here, snitch: where },
    nodes: nodes.map(node => ({ ...where(node), ...node })),
  }
}

/** The options for `openCells`. */
export function cellsOptionsOf(file: CellsFile, access: NodeAccess = {}): CellsOptions {
  const nodes: NodeSource[] = file.nodes.map(node => ({ ...node, node: openNodeAt(node.address, access) }))
  return {
    nodes,
    ...(file.factor === undefined ? {} : { factor: file.factor }),
    ...(file.partitioner === undefined ? {} : { partitioner: file.partitioner }),
    openNode: ({ address }) => openNodeAt(address, access),
    distance: distanceFrom(file.here),
    ...(access.onWarning === undefined ? {} : { onWarning: access.onWarning }),
  }
}

function objectionTo(read: Partial<CellsFileText>): string | undefined {
  if (typeof read !== 'object' || read === null || !Array.isArray(read.nodes)) return 'it needs a list of "nodes"'
  const { partitioner, snitch, here } = read
  const unknown =
    unknownMember('the file', read, MEMBERS) ??
    unknownMember('"here"', here, PLACE_MEMBERS) ??
    unknownMember('"snitch"', snitch, SNITCH_MEMBERS)
  if (unknown !== undefined) return unknown
  for (const node of read.nodes as FileNode[]) {
    if (typeof node?.name !== 'string' || typeof node.address !== 'string')
      return 'each node has a "name" and an "address"'
    const member = unknownMember(`node ${node.name}`, node, NODE_MEMBERS)
    if (member !== undefined) return member
  }
  if (partitioner !== undefined && !PARTITIONERS.includes(partitioner)) return '"partitioner" is "hash" or "ordered"'
  const isSnitch =
    snitch === undefined || snitch === 'simple' || snitch === 'addresses' || typeof snitch?.file === 'string'
  return isSnitch ? undefined : '"snitch" is "simple", "addresses" or { "file": "..." }'
}

function unknownMember(what: string, value: unknown, known: readonly string[]): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const name = Object.keys(value).find(each => !known.includes(each))
  return name === undefined ? undefined : `${what} has no member "${name}"; its members are ${known.join(', ')}`
}

function snitchOf(snitch: CellsFileText['snitch'], path: string): Snitch {
  if (snitch === 'addresses') return addressSnitch
  return typeof snitch === 'object' ? fileSnitch(readText(resolve(dirname(path), snitch.file))) : simpleSnitch
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new FreshetError('CONFIG_INVALID', `${path} cannot be read: ${(cause as Error).message}`, { cause })
  }
}
