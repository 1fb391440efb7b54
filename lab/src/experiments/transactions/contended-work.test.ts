import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createRandom } from '../../harness/random.js'
import { CLIENTS, type Contender, measure, READS, WRITES } from './contended-work.js'

/** Each transaction needs `attempts` attempts; one in `lostEvery` reports success without having been applied. */
function createContender(attempts: number, lostEvery = Infinity): Contender & { readonly seen: Set<number> } {
  let total = 0
  let done = 0
  const seen = new Set<number>()
  return {
    name: 'made up',
    seen,
    transact: async (client, { ids, written }, isWorthIt) => {
      seen.add(client)
      expect([new Set(ids).size, written.length]).toEqual([READS, WRITES])
      for (let i = 0; i < attempts; i++) {
        if (!isWorthIt()) return false
        await delay(1)
      }
      if (++done % lostEvery !== 0) total += written.length
      return true
    },
    total: async () => total,
    stop: async () => {},
  }
}

test('refused attempts and commits of all clients are counted', async () => {
  const contender = createContender(4)
  const measured = await measure({ contender, objects: 20, measureMs: 300, random: createRandom(1) })
  expect(contender.seen.size).toBe(CLIENTS)
  expect(measured.lost).toBe(0)
  expect(measured.commits).toBeGreaterThan(0)
  // Transactions under way at the end have been refused and have not committed.
  expect(measured.abortRate).toBeGreaterThanOrEqual(0.7)
  expect(measured.abortRate).toBeLessThan(0.9)
})

test('lost transactions are detected', async () => {
  const measured = await measure({
    contender: createContender(1, 10),
    objects: 20,
    measureMs: 300,
    random: createRandom(1),
  })
  expect(measured.lost).toBeGreaterThan(0)
})
