/** A small run of `npm run lab -- coherence-engines`. */
import { endCassandra } from '@freshet/engines/under-test/start-cassandra'
import { endPostgres } from '@freshet/engines/under-test/start-postgres'
import { endCaches } from '@freshet/lab/dist/caches/cache-process.js'
import { endSlowOrigins } from '@freshet/lab/dist/caches/slow-origin.js'
import { coherenceEngines } from '@freshet/lab/dist/experiments/coherence-engines/coherence-engines.js'
import { createRandom } from '@freshet/lab/dist/harness/random.js'
import { afterAll, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'

const SERVICES = ['varnish', 'squid', 'nginx', 'haproxy', 'postgresql', 'mariadb', 'redis', 'cassandra']
const isLeftOut = SERVICES.some(service => reasonToSkip(service) !== undefined)

afterAll(async () => {
  await Promise.all([endCaches(), endSlowOrigins(), endPostgres(), endCassandra()])
})

test.skipIf(isLeftOut)(
  'reads through two servers over an engine are as fresh as promised, although one is killed',
  async () => {
    const context = { quick: true, seed: 2, random: createRandom(2), progress: () => {} }
    const { summary, verdicts } = await coherenceEngines.run(context)
    // The detail lists what was read when, if there are violations.
    expect(summary.violations, verdicts[0]!.detail).toBe(0)
    expect(summary.checkedReads).toBeGreaterThan(3000)
  },
  300_000,
)
