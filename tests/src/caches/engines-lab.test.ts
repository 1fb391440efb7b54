/** What `npm run lab -- coherence-engines`, `stalls` and `fbf-14-engines` show, in small. */
import { endCaches } from '@freshet/lab/dist/caches/cache-process.js'
import { endSlowOrigins } from '@freshet/lab/dist/caches/slow-origin.js'
import { coherenceEngines } from '@freshet/lab/dist/experiments/coherence-engines/coherence-engines.js'
import { fbf14Engines } from '@freshet/lab/dist/experiments/fbf/fbf-14-engines.js'
import { stalls } from '@freshet/lab/dist/experiments/stalls/stalls.js'
import { createRandom } from '@freshet/lab/dist/harness/random.js'
import { endCassandra } from '@freshet/stores/under-test/start-cassandra'
import { endPostgres } from '@freshet/stores/under-test/start-postgres'
import { afterAll, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'

const SERVICES = ['varnish', 'squid', 'nginx', 'haproxy', 'postgresql', 'mariadb', 'redis', 'cassandra']
const isLeftOut = SERVICES.some(service => reasonToSkip(service) !== undefined)

afterAll(async () => {
  await Promise.all([endCaches(), endSlowOrigins(), endPostgres(), endCassandra()])
})

test.skipIf(isLeftOut)(
  'reads are as fresh as promised before two servers over an engine, one of them killed',
  async () => {
    const { summary, verdicts } = await coherenceEngines.run(context(2))
    // With what was read when, should there be any.
    expect(summary.violations, verdicts[0]!.detail).toBe(0)
    expect(summary.checkedReads).toBeGreaterThan(5000)
  },
  300_000,
)

test.skipIf(isLeftOut)(
  'reads are as fresh as promised while servers, backends, connections and readers stand still',
  async () => {
    const { summary, verdicts } = await stalls.run(context(4))
    expect(summary.stale, verdicts[0]!.detail).toBe(0)
    expect(summary.stalls).toBeGreaterThan(6)
  },
  600_000,
)

test.skipIf(isLeftOut)(
  'additions count once over an engine, servers and a replica killed; without ids they do not',
  async () => {
    const { verdicts } = await fbf14Engines.run(context(3))
    expect(verdicts.filter(({ holds }) => !holds)).toEqual([])
  },
  180_000,
)

function context(seed: number) {
  return { quick: true, seed, random: createRandom(seed), progress: () => {} }
}
