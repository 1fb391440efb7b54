/** A store on a real Redis Cluster of three nodes: all of it is in one slot, so it lives on one of them, and may be moved. */
import { setImmediate } from 'node:timers/promises'
import type { Store } from '@freshet/core/store'
import { testStore } from '@freshet/core/store/conformance'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../under-test/eventually.js'
import { DURABLE, type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { type Client, connectTo, type Reply } from './client.js'
import { openRedisStore } from './redis-store.js'

const SLOTS = 16_384
const nodes: { readonly redis: RunningRedis; readonly client: Client; readonly id: string }[] = []
let stores = 0

beforeAll(async () => {
  for (let i = 0; i < 3; i++) {
    const redis = await startRedis({ settings: DURABLE, isNode: true })
    const client = await connectTo(redis.url)
    const [first, last] = [Math.ceil((i * SLOTS) / 3), Math.ceil(((i + 1) * SLOTS) / 3) - 1]
    await client.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', `${first}`, `${last}`])
    nodes.push({ redis, client, id: String(await client.sendCommand(['CLUSTER', 'MYID'])) })
  }
  const { client } = nodes[0]!
  for (const other of nodes.slice(1)) {
    await client.sendCommand(['CLUSTER', 'MEET', '127.0.0.1', `${other.redis.port}`, await busPortOf(other.client)])
  }
  await eventually('the cluster is whole', async () => {
    const all = await Promise.all(nodes.map(each => each.client.sendCommand(['CLUSTER', 'INFO'])))
    return all.every(info => /cluster_state:ok/.test(String(info)) && /cluster_known_nodes:3/.test(String(info)))
  })
})
afterAll(async () => {
  for (const { client, redis } of nodes) {
    client.destroy()
    await redis.stop()
  }
})

function open(name: string, node: number): Promise<Store> {
  return openRedisStore({ url: nodes[node % 3]!.redis.url, name, patienceMs: 20_000 })
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
    steps: 1000,
  })
})

test('a store whose slot moves to another node, key by key, while it is written to, loses nothing', async () => {
  const name = 'moving'
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
  const replica = await startRedis({ settings: DURABLE, isNode: true })
  const client = await connectTo(replica.url)
  const [{ redis, id, client: primary }] = nodes as [(typeof nodes)[number]]
  await client.sendCommand(['CLUSTER', 'MEET', '127.0.0.1', `${redis.port}`, await busPortOf(primary)])
  const becomes = () => client.sendCommand(['CLUSTER', 'REPLICATE', id]).then(Boolean, () => false)
  await eventually('it knows the node to follow', becomes)
  const knows = async () => String(await client.sendCommand(['CLUSTER', 'INFO']))
  await eventually('it knows the cluster', async () => /cluster_state:ok/.test(await knows()))
  const store = await openRedisStore({ url: replica.url, name: 'by-replica' })
  await store.commit({ writes: [{ key: 'a/b/c', contentType: 'text/plain', body: Buffer.from('1') }] })
  expect((await store.get('a/b/c'))?.version).toBe(await store.position())
  await store.close()
  client.destroy()
  await replica.stop()
})

/** As `redis-cli --cluster reshard` does it. */
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

async function busPortOf(client: Client): Promise<string> {
  return String(((await client.sendCommand(['CONFIG', 'GET', 'cluster-port'])) as readonly Buffer[])[1])
}

async function holds(client: Client, slot: string): Promise<boolean> {
  return Number((await client.sendCommand(['CLUSTER', 'COUNTKEYSINSLOT', slot])) as Reply) > 0
}
