/** A small run of `npm run lab -- transactions`: all contenders do the same work, and lose nothing. */
import { existsSync } from 'node:fs'
import { createConnection } from 'node:net'
import { endPostgres, startPostgres } from '@freshet/engines/under-test/start-postgres'
import { endCaches } from '@freshet/lab/dist/caches/cache-process.js'
import { endSlowOrigins } from '@freshet/lab/dist/caches/slow-origin.js'
import { measureAll } from '@freshet/lab/dist/experiments/transactions/transactions.js'
import { createRandom } from '@freshet/lab/dist/harness/random.js'
import { afterAll, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'

const isLeftOut = ['varnish', 'postgresql'].some(service => reasonToSkip(service) !== undefined)

afterAll(async () => {
  await Promise.all([endCaches(), endSlowOrigins(), endPostgres()])
})

test.skipIf(isLeftOut)(
  'every commit of every contender counts, and with leases fewer attempts are refused',
  async () => {
    const results = await measureAll(
      { random: createRandom(1), progress: () => {} },
      { levels: [12], measureMs: 4_000 },
    )
    expect(results.map(({ contender }) => contender)).toEqual(['classic', 'coherent', 'leased', 'PostgreSQL'])
    expect(results.map(({ lost }) => lost)).toEqual([0, 0, 0, 0])
    const [classic, coherent, leased] = results
    for (const { commits } of [classic!, coherent!, leased!]) expect(commits).toBeGreaterThan(0)
    expect(leased!.abortRate).toBeLessThan(coherent!.abortRate)
  },
)

test.skipIf(reasonToSkip('postgresql') !== undefined)('a stopped PostgreSQL leaves nothing behind', async () => {
  const { port, folder, stop } = await startPostgres()
  expect(await accepts(port)).toBe(true)
  expect(existsSync(folder)).toBe(true)
  await stop()
  expect(await accepts(port)).toBe(false)
  expect(existsSync(folder)).toBe(false)
})

function accepts(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = createConnection(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
