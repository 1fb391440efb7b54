/** A small run of `npm run lab -- fbf-14-engines`. */
import { endCassandra } from '@freshet/engines/under-test/start-cassandra'
import { endPostgres } from '@freshet/engines/under-test/start-postgres'
import { endCaches } from '@freshet/lab/dist/caches/cache-process.js'
import { endSlowOrigins } from '@freshet/lab/dist/caches/slow-origin.js'
import { fbf14Engines } from '@freshet/lab/dist/experiments/fbf/fbf-14-engines.js'
import { createRandom } from '@freshet/lab/dist/harness/random.js'
import { afterAll, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'

const SERVICES = ['varnish', 'squid', 'nginx', 'haproxy', 'postgresql', 'mariadb', 'redis', 'cassandra']
const isLeftOut = SERVICES.some(service => reasonToSkip(service) !== undefined)

afterAll(async () => {
  await Promise.all([endCaches(), endSlowOrigins(), endPostgres(), endCassandra()])
})

test.skipIf(isLeftOut)(
  'additions count once over an engine with servers and a replica killed; without ids they do not',
  async () => {
    const context = { quick: true, seed: 3, random: createRandom(3), progress: () => {} }
    const { verdicts } = await fbf14Engines.run(context)
    expect(verdicts.filter(({ holds }) => !holds)).toEqual([])
  },
  180_000,
)
