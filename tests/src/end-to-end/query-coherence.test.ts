/**
 * Results of queries, checked against the exact ones. With a server that forgets the tags of the value before a write, the same
 * check must find stale results, or it proves nothing.
 */
import { addTags } from '@freshet/core/queries'
import type { Commit, LogEntry, Position, Store, Tag } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { createRandom } from '@freshet/lab/dist/harness/random.js'
import { type QueryLoadResult, runQueryLoad } from '@freshet/lab/dist/query-load/run-query-load.js'
import { createFreshetServer } from '@freshet/server'
import { expect, test } from 'vitest'

const seed = Math.floor(Math.random() * 2 ** 32)

async function runLoad(plant: (store: Store) => Store): Promise<QueryLoadResult> {
  const store = createMemoryStore()
  const server = createFreshetServer({ store: plant(store), settings: { compressBytesMin: 1_000_000 } })
  try {
    const { url } = await server.listen({ port: 0 })
    const random = createRandom(seed)
    return await runQueryLoad({ url, originUrl: url, fetch, random, reads: 5000, sessions: 6, staleMax: 3 })
  } finally {
    await server.close({ graceMs: 100 })
    await store.close()
  }
}

/** Removes, from each change in the log, the tags that only the earlier value had. */
function forgettingWhatWas(store: Store): Store {
  const forgotten = new Map<Position, ReadonlySet<Tag>>()
  const commit = async (given: Commit) => {
    const [before, after] = [new Set<Tag>(), new Set<Tag>()]
    for (const write of given.writes) {
      const bucket = write.key.split('/').slice(0, 2).join('/')
      const indexes = await store.indexes(bucket)
      const stored = await store.get(write.key)
      if (stored) addTags(before, bucket, indexes, JSON.parse(new TextDecoder().decode(stored.body)) as object)
      if ('body' in write) addTags(after, bucket, indexes, JSON.parse(new TextDecoder().decode(write.body)) as object)
    }
    const result = await store.commit(given)
    if (result.committed) forgotten.set(result.position, new Set([...before].filter(tag => !after.has(tag))))
    return result
  }
  const changes = async (position: Position, limit?: number) => {
    // The commit is published before it is noted here.
    await new Promise(setImmediate)
    const entries: readonly LogEntry[] = await store.changes(position, limit)
    return entries.map(entry => ({
      ...entry,
      tags: entry.tags.filter(tag => !forgotten.get(entry.position)?.has(tag)),
    }))
  }
  return new Proxy<Store>(store, {
    get: (target, name) => {
      if (name === 'commit') return commit
      if (name === 'changes') return changes
      const value = Reflect.get(target, name, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

test(`no query result is older than promised (seed ${seed})`, async () => {
  const { reads, stale, traces, fromMemory, writes, failed } = await runLoad(store => store)
  expect([stale, traces, failed]).toEqual([0, [], 0])
  expect(reads).toBeGreaterThanOrEqual(5000)
  expect(fromMemory).toBeGreaterThan(500)
  expect(writes).toBeGreaterThan(80)
})

test('a server that forgets the tags of the value before a write is detected', async () => {
  expect((await runLoad(forgettingWhatWas)).stale).toBeGreaterThan(0)
})
