/**
 * Where keys and nodes lie on the layout. `hash`: keys are spread evenly, and each node has many places, so that the other nodes
 * share the keys of a node that leaves evenly. `ordered`: keys lie in the order of their bytes, and each node has the range that
 * begins at its `from`. So neighbouring keys are on the same nodes, and the operator must see to it that no node has too many.
 */
import type { Key } from '@freshet/core/store'
import { positionOfKey } from '@freshet/dht'
import { compareUtf8 } from '@freshet/protocol'

export const PARTITIONERS = ['hash', 'ordered'] as const
export type PartitionerName = (typeof PARTITIONERS)[number]

/** A number where keys are hashed, a key where they are ordered. */
export type Token = number | string

export interface Partitioner {
  tokenOf(key: Key): Token
  compare(a: Token, b: Token): number
  tokensOfNode(node: { readonly name: string; readonly from?: Key | undefined }): readonly Token[]
}

/** With 16 places per node, shares differ by some 25% of their size. */
const PLACES_PER_NODE = 16
const HASH_FUNCTION = 1

const HASH: Partitioner = {
  tokenOf: key => positionOfKey(key, HASH_FUNCTION),
  compare: (a, b) => (a as number) - (b as number),
  tokensOfNode: ({ name }) => Array.from({ length: PLACES_PER_NODE }, (_, i) => positionOfKey(`${name} ${i}`, 0)),
}

const ORDERED: Partitioner = {
  tokenOf: key => key,
  compare: (a, b) => compareUtf8(a as string, b as string),
  tokensOfNode: ({ from = '' }) => [from],
}

export function partitionerOf(name: PartitionerName): Partitioner {
  return name === 'hash' ? HASH : ORDERED
}
