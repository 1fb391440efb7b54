/** A small run of `npm run lab -- stalls`. */
import { endCassandra } from '@freshet/engines/under-test/start-cassandra'
import { endPostgres } from '@freshet/engines/under-test/start-postgres'
import { endCaches } from '@freshet/lab/dist/caches/cache-process.js'
import { endSlowOrigins } from '@freshet/lab/dist/caches/slow-origin.js'
import { stalls } from '@freshet/lab/dist/experiments/stalls/stalls.js'
import { createRandom } from '@freshet/lab/dist/harness/random.js'
import { afterAll, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'

const SERVICES = ['varnish', 'squid', 'nginx', 'haproxy', 'postgresql', 'mariadb', 'redis', 'cassandra']
const isLeftOut = SERVICES.some(service => reasonToSkip(service) !== undefined)

afterAll(async () => {
  await Promise.all([endCaches(), endSlowOrigins(), endPostgres(), endCassandra()])
})

test.skipIf(isLeftOut)(
  'reads are as fresh as promised while servers, backends, connections and readers stall',
  async () => {
    const context = { quick: true, seed: 4, random: createRandom(4), progress: () => {} }
    const { summary, verdicts } = await stalls.run(context)
    expect(summary.stale, verdicts[0]!.detail).toBe(0)
    expect(summary.stalls).toBeGreaterThan(2)
  },
  600_000,
)
