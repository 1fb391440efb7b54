import { expect, test } from 'vitest'
import { SmallRing } from './under-test/small-ring.js'
import type { InsertOutcome, RetrieveOutcome } from './updates.js'

const KEY = 'shop/products/42'

function read(ring: SmallRing, by: number): RetrieveOutcome {
  return ring.ask(then => ring.at(by).versions.retrieve(KEY, ring.nowMs, then))
}

test('BRK reads every replica, and never knows that its value is current', () => {
  const ring = SmallRing.grown(8)
  const { stamp } = ring.ask<InsertOutcome>(then => ring.at(1).versions.insert(KEY, 'a', ring.nowMs, then))
  expect(stamp.count).toBe(1)
  expect(read(ring, 2)).toMatchObject({ value: 'a', replicas: 3, isCurrent: false })
})

test('two writers of BRK make up the same version for two values; with timestamps one of them is later', () => {
  const ring = SmallRing.grown(8)
  const brk: InsertOutcome[] = []
  const ums: InsertOutcome[] = []
  for (const writer of [1, 2]) {
    ring.at(writer).versions.insert(KEY, writer, ring.nowMs, outcome => brk.push(outcome))
    ring.at(writer).updates.insert(`${KEY}/ums`, writer, ring.nowMs, outcome => ums.push(outcome))
  }
  ring.run(2000)
  expect(brk.map(({ stamp }) => stamp.count)).toEqual([1, 1])
  expect(new Set(ums.map(({ stamp }) => stamp.count)).size).toBe(2)
})
