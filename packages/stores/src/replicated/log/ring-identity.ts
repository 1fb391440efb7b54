/**
 * What tells that the nodes of a ring were put back by their own tools. Each node is a store, which has another log from then on. So if all nodes that are
 * there have other logs than the ring remembers, what the ring had decided may be lost. One that has the log it had stands for those that were emptied and
 * rebuilt, or started again, while servers ran: the ring went on meanwhile.
 */
import type { Identity } from '../../logged/identity.js'
import type { RingNode } from './ring-node.js'

/** The ids of the nodes' logs, by their places. */
type Logs = Readonly<Record<string, string>>

/** Of the nodes that are there. */
export function ringIdentity(nodes: readonly RingNode[], majority: number): Identity {
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
