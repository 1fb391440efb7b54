/**
 * A store on a real Redis Cluster of three nodes. All of it is in one slot, so it lives on one node, and may be moved to
 * another.
 */
import { setImmediate } from 'node:timers/promises'
import type { Position, Store } from '@freshet/core/store'
import { testStore } from '@freshet/core/store/conformance'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../under-test/eventually.js'
import { DURABLE } from '../under-test/start-redis.js'
import {
  type ClusterNode,
  startClusterReplica,
  startRedisCluster,
  stopNode,
} from '../under-test/start-redis-cluster.js'
import { WALK_SIZE } from '../under-test/walk-size.js'
import type { Client, Reply } from './client.js'
import { openRedisStore } from './open-redis-store.js'

let nodes: readonly ClusterNode[] = []
let stores = 0

beforeAll(async () => {
  // In memory: if a busy disk hid commits for a second, their keys would be put into the log twice.
  nodes = await startRedisCluster(3)
})
afterAll(async () => {
  for (const node of nodes) await stopNode(node)
})

function open(name: string, node: number): Promise<Store> {
  return openRedisStore({ url: nodes[node % 3]!.redis.url, name, patienceMs: 20_000, onWarning: () => {} })
}

describe('two servers that know different nodes', () => {
  testStore({
    kit: { describe, test, expect, nextTurn: setImmediate },
    async open() {
      const name = `cluster-${stores++}`
      const store = await open(name, stores)
      const peer = await open(name, stores + 1)
      return {
        store,
        peer,
        async dispose() {
          await peer.close()
          await store.close()
        },
        async reopen() {
          await store.close()
          return open(name, stores + 2)
        },
      }
    },
    ...WALK_SIZE,
  })
})

test('a store whose slot moves to another node, key by key, while it is written, loses nothing', async () => {
  const name = 'moving'
  // Only a store that cannot have lost writes keeps its log at another node.
  const durable = Object.entries(DURABLE).flat()
  await Promise.all(nodes.map(({ client }) => client.sendCommand(['CONFIG', 'SET', ...durable])))
  const [store, peer] = [await open(name, 0), await open(name, 1)]
  const { log } = store
  const begin = await store.position()
  let isOver = false
  const written: (readonly [string, number])[] = []
  const write = async (way: Store, writer: number) => {
    for (let i = 0; !isOver; i++) {
      const id = `${writer}-${i}`
      const writes = ['a/b', 'c/d'].map(bucket => ({
        key: `${bucket}/${id}`,
        contentType: 'text/plain',
        body: Buffer.from(id),
      }))
      const result = await way.commit({ writes })
      if (result.committed) written.push([id, result.position])
    }
  }
  const writing = [write(store, 0), write(peer, 1)]
  await eventually('there is something to move', () => written.length > 200)
  await moveSlot(`{freshet:${name}}:head`)
  const before = written.length
  await eventually('it goes on there', () => written.length > before + 50)
  isOver = true
  await Promise.all(writing)
  const page = await store.scan('a/b', { limit: 1_000_000 })
  const other = await peer.scan('c/d', { limit: 1_000_000 })
  expect(page.entries.map(({ id, version }) => [id, version])).toEqual(
    other.entries.map(({ id, version }) => [id, version]),
  )
  expect(new Map(page.entries.map(({ id, version }) => [id, version]))).toEqual(new Map(written))
  await eventually('the log has them all', async () => (await store.changes(begin, 100_000)).length >= written.length)
  expect(store.log).toBe(log)
  await store.close()
  await peer.close()
})

test('the address may be that of a replica, which leads to the node that has the slot', async () => {
  const replica = await startClusterReplica(nodes)
  const store = await openRedisStore({ url: replica.redis.url, name: 'by-replica', onWarning: () => {} })
  await store.commit({ writes: [{ key: 'a/b/c', contentType: 'text/plain', body: Buffer.from('1') }] })
  expect((await store.get('a/b/c'))?.version).toBe(await store.position())
  await store.close()
  await stopNode(replica)
})

test('if the only named node of a cluster dies, the store finds the others, once its replica has taken over', async () => {
  const settings = { 'cluster-node-timeout': '4000', 'repl-diskless-sync-delay': '0' }
  const cluster = [...(await startRedisCluster(3, settings))]
  const [named] = cluster as [ClusterNode]
  const replica = await startClusterReplica(cluster, settings)
  cluster.push(replica)
  const name = await nameAt(named)
  const store = await openRedisStore({ url: named.redis.url, name, patienceMs: 60_000, onWarning: () => {} })
  await store.commit({ writes: [{ key: 'a/b/c', contentType: 'text/plain', body: Buffer.from('1') }] })
  await eventually('the replica has it', async () => isAt(replica, name, await store.position()))
  await named.redis.kill()
  expect(Buffer.from((await store.get('a/b/c'))!.body).toString()).toBe('1')
  const result = await store.commit({ writes: [{ key: 'a/b/c', contentType: 'text/plain', body: Buffer.from('2') }] })
  expect(result.committed).toBe(true)
  await store.close()
  for (const node of cluster) await stopNode(node)
})

/** The name of a store whose slot is at a node of the first third. */
async function nameAt({ client }: ClusterNode): Promise<string> {
  for (let i = 0; ; i++) {
    const slot = await client.sendCommand(['CLUSTER', 'KEYSLOT', `{freshet:${i}}:head`])
    if (Number(slot) < 5000) return `${i}`
  }
}

/** Whether a replica has reached this position. */
async function isAt({ client }: ClusterNode, name: string, position: Position): Promise<boolean> {
  await client.sendCommand(['READONLY'])
  const head = await client.sendCommand(['GET', `{freshet:${name}}:head`]).catch(() => null)
  return head !== null && Number.parseInt(String(head), 10) >= position
}

/** Moves the slot as `redis-cli --cluster reshard` does. */
async function moveSlot(key: string): Promise<void> {
  const slot = `${await nodes[0]!.client.sendCommand(['CLUSTER', 'KEYSLOT', key])}`
  const from = (await Promise.all(nodes.map(node => holds(node.client, slot)))).indexOf(true)
  const [source, target] = [nodes[from]!, nodes[(from + 1) % 3]!]
  await target.client.sendCommand(['CLUSTER', 'SETSLOT', slot, 'IMPORTING', source.id])
  await source.client.sendCommand(['CLUSTER', 'SETSLOT', slot, 'MIGRATING', target.id])
  for (;;) {
    const keys = (await source.client.sendCommand(['CLUSTER', 'GETKEYSINSLOT', slot, '20'])) as readonly Buffer[]
    if (keys.length === 0) break
    const to = ['127.0.0.1', `${target.redis.port}`, '', '0', '10000']
    await source.client.sendCommand(['MIGRATE', ...to, 'KEYS', ...keys])
  }
  for (const { client } of [target, source]) await client.sendCommand(['CLUSTER', 'SETSLOT', slot, 'NODE', target.id])
}

async function holds(client: Client, slot: string): Promise<boolean> {
  return Number((await client.sendCommand(['CLUSTER', 'COUNTKEYSINSLOT', slot])) as Reply) > 0
}
