import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LayoutNode } from './cells-layout.js'
import { createPlacement } from './placement.js'

function node(name: string, dataCentre = 'here', rack = 'rack', from?: string): LayoutNode {
  return { name, address: '', dataCentre, rack, ...(from === undefined ? {} : { from }) }
}

const KEYS = Array.from({ length: 2000 }, (_, i) => `shop/products/${i}`)

describe('hashed keys', () => {
  const nodes = ['a', 'b', 'c', 'd', 'e'].map(name => node(name))

  test('have as many replicas as the factor says, on different nodes, spread about evenly', () => {
    const placement = createPlacement(nodes, { factor: 3, partitioner: 'hash' })
    const counts = new Map<string, number>()
    for (const key of KEYS) {
      const replicas = placement.replicasOf(key)
      expect(new Set(replicas).size).toBe(3)
      for (const name of replicas) counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    for (const { name } of nodes) expect(counts.get(name)! / KEYS.length).toBeGreaterThan(0.3)
  })

  test('stay where they are when a node joins, except for about the share that the node gets', () => {
    const before = createPlacement(nodes, { factor: 3, partitioner: 'hash' })
    const after = createPlacement([...nodes, node('f')], { factor: 3, partitioner: 'hash' })
    const moved = KEYS.filter(key => after.replicasOf(key).includes('f'))
    expect(moved.length / KEYS.length).toBeLessThan(0.8)
    for (const key of KEYS) {
      if (!moved.includes(key)) expect(after.replicasOf(key)).toEqual(before.replicasOf(key))
    }
  })
})

describe('racks and data centres', () => {
  test('no two replicas share a rack while there are others', () => {
    const racks = fc.array(fc.constantFrom('1', '2', '3', '4'), { minLength: 3, maxLength: 9 })
    fc.assert(
      fc.property(racks, fc.constantFrom(...KEYS), fc.integer({ min: 1, max: 3 }), (names, key, factor) => {
        const nodes = names.map((rack, i) => node(`n${i}`, 'here', rack))
        const replicas = createPlacement(nodes, { factor, partitioner: 'hash' }).replicasOf(key)
        const used = new Set(replicas.map(name => nodes.find(each => each.name === name)!.rack))
        expect(replicas.length).toBe(factor)
        expect(used.size).toBe(Math.min(factor, new Set(names).size))
      }),
    )
  })

  test('each data centre has as many replicas as the factor says', () => {
    const nodes = ['eu', 'us'].flatMap(centre => [1, 2, 3].map(n => node(`${centre}${n}`, centre, `${n}`)))
    const placement = createPlacement(nodes, { factor: { eu: 2, us: 1 }, partitioner: 'hash' })
    for (const key of KEYS.slice(0, 200)) {
      const replicas = placement.replicasOf(key)
      expect(replicas.filter(name => name.startsWith('eu')).length).toBe(2)
      expect(replicas.filter(name => name.startsWith('us')).length).toBe(1)
    }
  })
})

test('the replicas of an ordered key are on the node whose range it is in, and on the nodes after it', () => {
  const nodes = [
    node('a', 'here', 'rack', ''),
    node('b', 'here', 'rack', 'shop/m'),
    node('c', 'here', 'rack', 'shop/t'),
  ]
  const placement = createPlacement(nodes, { factor: 2, partitioner: 'ordered' })
  expect(placement.replicasOf('shop/a/1')).toEqual(['a', 'b'])
  expect(placement.replicasOf('shop/m')).toEqual(['b', 'c'])
  expect(placement.replicasOf('shop/z/1')).toEqual(['c', 'a'])
})
