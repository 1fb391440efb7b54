/** What it costs to know how much many namespaces use. */
import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { expect, test } from 'vitest'
import { withMethods } from '../../testing/odd-stores.js'
import { AccessRules } from '../rules/access-rules.js'
import { parseRules } from '../rules/parse-rules.js'
import { Quotas } from './quotas.js'
import { usageKey } from './usage-record.js'

const rules = new AccessRules(parseRules('quota * objects 100, bytes 1000, requests 500 per day').rules!)
const names = Array.from({ length: 1000 }, (_, i) => `tenant-${i}`)

/** Also counts how many keys each step reads, and how many steps run at once. */
function counted(store: Store): { store: Store; steps: number[]; underWay: () => number } {
  const steps: number[] = []
  let now = 0
  let most = 0
  const getMany: Store['getMany'] = async keys => {
    steps.push(keys.length)
    most = Math.max(most, ++now)
    await new Promise(resolve => setImmediate(resolve))
    now--
    return store.getMany(keys)
  }
  const get: Store['get'] = async key => (await getMany([key])).value[0]
  return { store: withMethods(store, { getMany, get }), steps, underWay: () => most }
}

async function add(store: Store, namespace: string): Promise<void> {
  await store.commit({ writes: [], adds: [{ key: usageKey(namespace, 'objects'), by: 1, decimals: 0 }] })
}

test('namespaces are read one page after another', async () => {
  const { store, steps, underWay } = counted(createMemoryStore({ positionsAfter: 0 }))
  await add(store, 'tenant-7')
  const usage = await new Quotas(store).usage(rules, names)
  expect(usage).toHaveLength(1000)
  expect(usage.find(({ namespace }) => namespace === 'tenant-7')?.objects).toEqual({ used: 1, max: 100 })
  expect(underWay()).toBe(1)
  expect(Math.max(...steps)).toBeLessThanOrEqual(600)
})

test('metrics read only those namespaces again that have changed', async () => {
  const { store, steps } = counted(createMemoryStore({ positionsAfter: 0 }))
  const quotas = new Quotas(store)
  const usedBy = (name: string) => quotas.lately.find(({ namespace }) => namespace === name)?.objects?.used
  await quotas.look(rules, names)
  steps.length = 0
  const before = await store.position()
  await quotas.look(rules, names)
  expect([steps, quotas.lately.length]).toEqual([[], 1000])
  await add(store, 'tenant-7')
  await quotas.follow(await store.changes(before, 100))
  await quotas.look(rules, names)
  expect(steps).toEqual([3])
  expect([usedBy('tenant-7'), usedBy('tenant-8')]).toEqual([1, 0])
  // A change during the read is not missed.
  await add(store, 'tenant-8')
  const looking = quotas.look(rules, [...names, 'tenant-new'])
  await add(store, 'tenant-new')
  quotas.follow(await store.changes(before, 100))
  await looking
  await quotas.look(rules, [...names, 'tenant-new'])
  expect([usedBy('tenant-8'), usedBy('tenant-new')]).toEqual([1, 1])
  await quotas.look(rules, ['tenant-8'])
  expect(quotas.lately.map(({ namespace }) => namespace)).toEqual(['tenant-8'])
})
