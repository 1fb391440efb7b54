/** The knowledge of every peer of a ring after a long time without changes: lets simulations begin in the middle. */
import { type ChordTables, distance, type Peer, positionOfPeer, RING_SIZE } from '@freshet/dht'

export function convergedTables(peers: readonly Peer[], successorsMax: number): (peer: Peer) => ChordTables {
  const placed = peers.map(peer => ({ peer, position: positionOfPeer(peer) })).sort((a, b) => a.position - b.position)
  const positions = Float64Array.from(placed, ({ position }) => position)
  const indexes = new Map(placed.map(({ peer }, index) => [peer, index]))
  const at = (index: number) => placed[(index + placed.length) % placed.length]!.peer
  return peer => {
    const index = indexes.get(peer)!
    const position = positions[index]!
    const successors = Array.from({ length: Math.min(successorsMax, placed.length - 1) }, (_, i) => at(index + 1 + i))
    const gap = distance(position, positionOfPeer(at(index + 1))) || RING_SIZE
    const fingers: Peer[] = []
    for (let step = RING_SIZE / 2; step > gap; step /= 2) {
      fingers.push(at(firstAtOrAfter(positions, (position + step) % RING_SIZE)))
    }
    return { predecessor: at(index - 1), successors: successors.length === 0 ? [peer] : successors, fingers }
  }
}

function firstAtOrAfter(positions: Float64Array, position: number): number {
  let [low, high] = [0, positions.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (positions[middle]! < position) low = middle + 1
    else high = middle
  }
  return low % positions.length
}
