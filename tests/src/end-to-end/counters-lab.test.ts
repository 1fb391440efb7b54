/** Counters over a network that loses, doubles and delays, with server kills; with ids and without. */
import { startSlowOrigin } from '@freshet/lab/dist/caches/slow-origin.js'
import { runCounters } from '@freshet/lab/dist/counter-load/run-counters.js'
import { createRandom } from '@freshet/lab/dist/harness/random.js'
import { expect, test } from 'vitest'

async function run(hasIds: boolean) {
  const origin = await startSlowOrigin({ settings: {}, lateShare: 0, lateMs: 0, durability: 'disk' })
  try {
    return await runCounters({
      ...{ url: origin.url, random: createRandom(14), operations: 1500, clients: 6, counters: 10 },
      ...{ hasIds, faultShare: 0.2, onProgress: () => {} },
      kills: { count: 3, restart: () => origin.restart() },
    })
  } finally {
    await origin.stop()
  }
}

test('every operation counts once, however often it arrives and whenever the server is killed', async () => {
  const result = await run(true)
  expect(result).toMatchObject({ unitsTooMuch: 0, unitsTooLittle: 0, sharedAnswers: 0, wrongReads: 0, error: 0 })
  expect(result.operations).toBeGreaterThanOrEqual(1500)
  for (const count of [result.replays, result.doubled, result.late, result.lostReplies, result.kills, result.reads]) {
    expect(count).toBeGreaterThan(0)
  }
})

test('without ids, the same load is miscounted', async () => {
  expect((await run(false)).error).toBeGreaterThan(0.01)
})
