/** A real Redis Cluster, in memory by default, whose slots are divided equally among its nodes. */
import { type Client, connectTo } from '../redis/client.js'
import { eventually } from './eventually.js'
import { type RunningRedis, startRedis } from './start-redis.js'

export interface ClusterNode {
  readonly redis: RunningRedis
  readonly client: Client
  readonly id: string
}

const SLOTS = 16_384

export async function startRedisCluster(
  count: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<ClusterNode[]> {
  const nodes: ClusterNode[] = []
  for (let i = 0; i < count; i++) {
    const node = await startNode(settings)
    const [first, last] = [Math.ceil((i * SLOTS) / count), Math.ceil(((i + 1) * SLOTS) / count) - 1]
    await node.client.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', `${first}`, `${last}`])
    nodes.push(node)
  }
  for (const other of nodes.slice(1)) await meet(nodes[0]!, other)
  await eventually('the cluster is whole', async () => {
    const all = await Promise.all(nodes.map(infoOf))
    return all.every(info => /cluster_state:ok/.test(info) && info.includes(`cluster_known_nodes:${count}`))
  })
  return nodes
}

/**
 * A replica of the first of these nodes. It knows the cluster, and all nodes know it: otherwise they would not let it take
 * over.
 */
export async function startClusterReplica(
  nodes: readonly ClusterNode[],
  settings: Readonly<Record<string, string>> = {},
): Promise<ClusterNode> {
  const replica = await startNode(settings)
  const of = nodes[0]!
  await meet(replica, of)
  const becomes = () => replica.client.sendCommand(['CLUSTER', 'REPLICATE', of.id]).then(Boolean, () => false)
  await eventually('it knows the node to follow', becomes)
  await eventually('it knows the cluster', async () => /cluster_state:ok/.test(await infoOf(replica)))
  await eventually('all know it', async () => {
    const known = await Promise.all(nodes.map(({ client }) => client.sendCommand(['CLUSTER', 'NODES'])))
    return known.every(text => new RegExp(`^${replica.id} .*slave ${of.id}`, 'm').test(String(text)))
  })
  return replica
}

export async function stopNode({ client, redis }: ClusterNode): Promise<void> {
  client.destroy()
  await redis.stop()
}

async function startNode(settings: Readonly<Record<string, string>>): Promise<ClusterNode> {
  const redis = await startRedis({ settings, isNode: true })
  const client = await connectTo(redis.url)
  return { redis, client, id: String(await client.sendCommand(['CLUSTER', 'MYID'])) }
}

async function meet(one: ClusterNode, other: ClusterNode): Promise<void> {
  const busPort = ((await other.client.sendCommand(['CONFIG', 'GET', 'cluster-port'])) as readonly Buffer[])[1]
  await one.client.sendCommand(['CLUSTER', 'MEET', '127.0.0.1', `${other.redis.port}`, String(busPort)])
}

async function infoOf({ client }: ClusterNode): Promise<string> {
  return String(await client.sendCommand(['CLUSTER', 'INFO']))
}
