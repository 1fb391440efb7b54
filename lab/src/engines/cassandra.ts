/** A Cassandra of three nodes, with three copies of everything, behind links whose conditions can be changed. */
import { startCassandra } from '@freshet/engines/under-test/start-cassandra'
import type { Random } from '../harness/random.js'
import { startInOrder } from '../harness/start-in-order.js'
import { CONDITIONS_IDEAL, type Conditions } from '../network/conditions.js'
import { type Link, startLink } from '../network/link.js'

const NODES = 3

export interface FarCassandra {
  /** The addresses of the nodes, through their links. */
  readonly hosts: readonly string[]
  readonly port: number
  /** Omitted conditions are those of an ideal link. */
  change(conditions: Partial<Conditions>): void
  stop(): Promise<void>
}

export async function startFarCassandra(random: Random): Promise<FarCassandra> {
  return startInOrder(async stops => {
    const cassandra = stops.add(await startCassandra({ nodes: NODES, isBehindLines: true }))
    const { port } = cassandra
    const links: Link[] = []
    for (const host of cassandra.hosts) {
      const target = `http://${host}:${port}`
      // The address that the nodes give to their clients.
      const options = { target, host: host.replace('127.0.0.', '127.0.1.'), port, seed: random.uint32() }
      links.push(stops.add(await startLink(options)))
    }
    return {
      hosts: links.map(({ url }) => new URL(url).hostname),
      port,
      change: conditions => {
        for (const link of links) link.change({ ...CONDITIONS_IDEAL, ...conditions })
      },
      stop: stops.stopAll,
    }
  })
}
