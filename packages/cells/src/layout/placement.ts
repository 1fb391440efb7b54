/**
 * Which nodes have the replicas of a key: clockwise from where the key lies, each node once, and in each data centre as many as
 * the factor says. Nodes of a rack that already has a replica are passed over as long as there are other racks (as in Cassandra's
 * NetworkTopologyStrategy), so that, where possible, the loss of a rack takes only one replica.
 */
import type { Key } from '@freshet/core/store'
import type { CellsLayout, LayoutNode } from './cells-layout.js'
import { partitionerOf, type Token } from './partitioner.js'

export interface Placement {
  /** The first is the node that the key lies at. */
  replicasOf(key: Key): readonly string[]
  /** Each range of the layout, and the nodes that have its replicas. */
  ranges(): readonly { readonly from: Token; readonly replicas: readonly string[] }[]
}

interface Place {
  readonly token: Token
  readonly node: LayoutNode
  /** Computed on first use. */
  replicas?: readonly string[]
}

type Spread = Pick<CellsLayout, 'factor' | 'partitioner'>

export function createPlacement(nodes: readonly LayoutNode[], { factor, partitioner: name }: Spread): Placement {
  const partitioner = partitionerOf(name)
  const places: Place[] = nodes
    .flatMap(node => partitioner.tokensOfNode(node).map(token => ({ token, node })))
    .sort((a, b) => partitioner.compare(a.token, b.token))
  const replicasAt = (index: number): readonly string[] => {
    const place = places[index]!
    place.replicas ??= walk(places, index, nodes, factor)
    return place.replicas
  }
  const indexOf = (key: Key): number => {
    const token = partitioner.tokenOf(key)
    let [low, high] = [0, places.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (partitioner.compare(places[middle]!.token, token) <= 0) low = middle + 1
      else high = middle
    }
    // Before the first place lies the range of the last one, which wraps around.
    return (low === 0 ? places.length : low) - 1
  }
  return {
    replicasOf: key => (places.length === 0 ? [] : replicasAt(indexOf(key))),
    ranges: () => places.map(({ token }, index) => ({ from: token, replicas: replicasAt(index) })),
  }
}

function walk(
  places: readonly Place[],
  start: number,
  nodes: readonly LayoutNode[],
  factor: CellsLayout['factor'],
): readonly string[] {
  const wanted = (dataCentre: string) => (typeof factor === 'number' ? factor : (factor[dataCentre] ?? 0))
  // With one factor for all data centres, the data centre of a node matters only as a part of its rack.
  const centreOf = (node: LayoutNode) => (typeof factor === 'number' ? '' : node.dataCentre)
  const rackOf = (node: LayoutNode) => `${node.dataCentre}/${node.rack}`
  const chosen: LayoutNode[] = []
  const passed: LayoutNode[] = []
  const countIn = (centre: string) => chosen.filter(node => centreOf(node) === centre).length
  const racksIn = (centre: string) => new Set(nodes.filter(node => centreOf(node) === centre).map(rackOf)).size
  for (let step = 0; step < places.length; step++) {
    const { node } = places[(start + step) % places.length]!
    const centre = centreOf(node)
    if (chosen.includes(node) || passed.includes(node) || countIn(centre) >= wanted(centre)) continue
    const racks = new Set(chosen.filter(each => centreOf(each) === centre).map(rackOf))
    if (racks.has(rackOf(node)) && racks.size < racksIn(centre)) passed.push(node)
    else chosen.push(node)
  }
  // If there are fewer racks than replicas, the nodes that were passed over are taken in order.
  for (const node of passed) if (countIn(centreOf(node)) < wanted(centreOf(node))) chosen.push(node)
  return chosen.map(({ name }) => name)
}
