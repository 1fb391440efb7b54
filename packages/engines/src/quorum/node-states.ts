/** The state of each node of a quorum, from its last answer to this server. The upkeep asks each node twice a second. */
import type { StoreNode } from '@freshet/core/store'
import type { LogDatabase } from '../log/log-database.js'
import type { QuorumNode } from './quorum-node.js'
import type { ReplicatedRows } from './replicated-rows.js'

export interface NodeStatesParts {
  readonly nodes: readonly QuorumNode[]
  readonly rows: ReplicatedRows
  readonly database: LogDatabase
}

export function nodeStates({ nodes, rows, database }: NodeStatesParts): readonly StoreNode[] {
  return nodes.map((node, i) => {
    const { place, durability, trouble } = node
    const { applied, isTooOld } = rows.nodeRows[i]!
    const state = stateOf(node, isTooOld)
    const isKnown = state !== 'emptied' && state !== 'rebuilding' && applied >= 0
    return {
      place,
      state,
      ...(isKnown && { behind: Math.max(0, database.slot - Math.max(applied, node.applied)) }),
      ...(durability !== undefined && { durability }),
      ...(state === 'silent' && trouble instanceof Error && { trouble: trouble.message }),
    }
  })
}

function stateOf({ isSilent, isEmptied, needsRows }: QuorumNode, isTooOld: boolean): StoreNode['state'] {
  if (isSilent) return 'silent'
  if (isEmptied) return 'emptied'
  return needsRows || isTooOld ? 'rebuilding' : 'well'
}
