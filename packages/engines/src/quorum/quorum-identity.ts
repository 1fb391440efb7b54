/**
 * Detects that the nodes of a quorum were restored by their own tools. Each node is a store, and begins another log when it is
 * restored. So if all nodes that answer have other logs than the quorum remembers, decisions of the quorum may be lost. If one
 * of them still has its log, the others were emptied and rebuilt, or started again, while servers ran: the quorum went on
 * meanwhile.
 */
import type { Identity } from '../log/identity.js'
import type { QuorumNode } from './quorum-node.js'

/** The ids of the nodes' logs, by their places. */
type Logs = Readonly<Record<string, string>>

/** The identity of the nodes that answer. */
export function quorumIdentity(nodes: readonly QuorumNode[], majority: number): Identity {
  const now: Logs = Object.fromEntries(nodes.flatMap(({ place, log }) => (log === undefined ? [] : [[place, log]])))
  const parse = (noted: string) => JSON.parse(noted) as Logs
  return {
    isSame(noted) {
      const before = parse(noted)
      const others = Object.entries(now).filter(([place, log]) => (before[place] ?? log) !== log).length
      return others < majority || others < Object.keys(now).length
    },
    toNote: noted => JSON.stringify({ ...(noted && parse(noted)), ...now }),
  }
}
