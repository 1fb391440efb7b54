/**
 * Coherence in a real browser: pages with the real client behind Chromium's own cache alone, and with Squid and Varnish behind
 * it. No session read is older than promised; some reads by plain `fetch` in the same pages are stale.
 * `npm run lab -- coherence-in-browser` does the same for longer.
 *
 * If FRESHET_SCREENSHOTS names a folder, the test saves a picture of the page there.
 */
import { join } from 'node:path'
import { endCaches } from '@freshet/lab/dist/caches/cache-process.js'
import { endSlowOrigins } from '@freshet/lab/dist/caches/slow-origin.js'
import { BROWSER_TOPOLOGIES } from '@freshet/lab/dist/experiments/coherence-in-browser/browser-topologies.js'
import { runBrowserLoad } from '@freshet/lab/dist/experiments/coherence-in-browser/run-browser-load.js'
import { createRandom } from '@freshet/lab/dist/harness/random.js'
import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { describeInChromium, useChromium } from '../end-to-end/chromium.js'
import { reasonToSkip } from '../runner/services.js'

const READS = 2000
/** Longer than a run: no copy expires. */
const LIFETIME_MS = 300_000
const RUN_MS_MAX = 300_000

const SCREENSHOTS = process.env.FRESHET_SCREENSHOTS
const PICTURED = 'Squid before Varnish'

const seed = Math.floor(Math.random() * 2 ** 32)

describeInChromium('pages in Chromium', () => {
  const chromium = useChromium()

  afterAll(async () => {
    await endCaches()
    await endSlowOrigins()
  })

  for (const topology of BROWSER_TOPOLOGIES) {
    const skips = topology.kinds.some(kind => reasonToSkip(kind) !== undefined)
    test.skipIf(skips)(
      `through ${topology.name}: no session read is older than promised, some reads by fetch are (seed ${seed})`,
      async () => {
        const random = createRandom(seed).fork(topology.name)
        const onEnd = (page: Page) => takePicture(topology.name, page)
        const load = { browser: chromium.browser, topology, random, reads: READS, lifetimeMs: LIFETIME_MS, onEnd }
        const result = await runBrowserLoad(load)
        expect(result.traces).toEqual([])
        expect(result).toMatchObject({ violations: 0, failures: [] })
        expect(result.checkedReads).toBeGreaterThanOrEqual(READS)
        expect(result.naiveViolations).toBeGreaterThan(0)
        const { browser: fromBrowser, shared, server } = result.servedFrom
        expect(fromBrowser + shared + server).toBe(result.checkedReads)
        expect(fromBrowser).toBeGreaterThan(0)
        expect(shared > 0).toBe(topology.kinds.length > 0)
        // The browser and the server agree on the source of answers, except for requests that two reads shared in the browser.
        expect(Math.abs(result.serverRequests / result.serverRequestsCounted - 1)).toBeLessThan(0.05)
      },
      RUN_MS_MAX,
    )
  }
})

async function takePicture(topology: string, page: Page): Promise<void> {
  if (SCREENSHOTS === undefined || topology !== PICTURED) return
  await page.screenshot({ path: join(SCREENSHOTS, 'coherence-in-browser.png') })
}
