/**
 * Coherence through real caches: many sessions of the real client, real servers, real caches with the shipped configurations,
 * writers past them and through them, late answers, purges at random. No read is older than promised; some plain reads under the
 * same load are. `npm run lab -- coherence` does the same for longer, with crashes.
 */
import { endCaches } from '@freshet/lab/dist/caches/cache-process.js'
import { endSlowOrigins } from '@freshet/lab/dist/caches/slow-origin.js'
import { TOPOLOGIES } from '@freshet/lab/dist/caches/topology.js'
import { type LoadResult, runLoad } from '@freshet/lab/dist/coherence-load/run-load.js'
import { createRandom } from '@freshet/lab/dist/harness/random.js'
import { afterAll, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'

const READS_IN_ALL = 35_000
const PLAIN_READS = 1000
const READS = Math.ceil(READS_IN_ALL / TOPOLOGIES.length)
const LIFETIME_MS = 20_000
const RUN_MS_MAX = 300_000

const seed = Math.floor(Math.random() * 2 ** 32)
const results: LoadResult[] = []

afterAll(async () => {
  await endCaches()
  await endSlowOrigins()
  console.table(
    results.map(({ topology, checkedReads, violations, naiveReads, naiveViolations, hitShare, purges, seconds }) => ({
      through: topology,
      checkedReads,
      violations,
      'plain reads': `${naiveViolations} of ${naiveReads} stale`,
      'from caches': `${Math.round(hitShare * 100)}%`,
      purges,
      seconds: Math.round(seconds),
    })),
  )
})

for (const topology of TOPOLOGIES) {
  const skips = topology.kinds.some(kind => reasonToSkip(kind) !== undefined)
  test.skipIf(skips)(
    `through ${topology.name}: no session read is older than promised, nor goes back (seed ${seed})`,
    async () => {
      const random = createRandom(seed).fork(topology.name)
      const result = await runLoad({ topology, random, reads: READS, plainReads: PLAIN_READS, lifetimeMs: LIFETIME_MS })
      results.push(result)
      expect(result.traces).toEqual([])
      expect(result).toMatchObject({ violations: 0, failed: 0 })
      expect(result.checkedReads).toBeGreaterThanOrEqual(READS)
      expect(result.naiveViolations).toBeGreaterThan(0)
      expect(result.hitShare).toBeGreaterThan(0.5)
      expect(result.handedOn).toBeGreaterThan(0)
      expect(result.purges).toBeGreaterThan(0)
    },
    RUN_MS_MAX,
  )
}
