/** A Cassandra of three nodes, with three copies of everything, behind lines whose conditions can be changed. */
import { type RunningCassandra, startCassandra } from '@freshet/stores/under-test/start-cassandra'
import type { Random } from '../harness/random.js'
import { CONDITIONS_IDEAL, type Conditions } from '../network/conditions.js'
import { type Link, startLink } from '../network/link.js'

const NODES = 3

export interface FarCassandra {
  /** Of the nodes, by their lines. */
  readonly hosts: readonly string[]
  readonly port: number
  /** What is not said is as on an ideal line. */
  change(conditions: Partial<Conditions>): void
  stop(): Promise<void>
}

export async function startFarCassandra(random: Random): Promise<FarCassandra> {
  const cassandra: RunningCassandra = await startCassandra({ nodes: NODES, isBehindLines: true })
  const links: Link[] = []
  const stop = async () => {
    for (const link of links) await link.stop()
    await cassandra.stop()
  }
  try {
    const { port } = cassandra
    for (const host of cassandra.hosts) {
      const target = `http://${host}:${port}`
      // Where the nodes tell their clients to come to.
      links.push(await startLink({ target, host: host.replace('127.0.0.', '127.0.1.'), port, seed: random.uint32() }))
    }
    return {
      hosts: links.map(({ url }) => new URL(url).hostname),
      port,
      change: conditions => {
        for (const link of links) link.change({ ...CONDITIONS_IDEAL, ...conditions })
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}
