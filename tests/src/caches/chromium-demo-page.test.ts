/**
 * The demo page behind Squid and Varnish, in a real browser. It shows which answers came from which cache, in agreement with the
 * server's own count, and no stale read of Freshet's.
 *
 * If FRESHET_SCREENSHOTS names a folder, the test saves pictures of the page there.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endCaches } from '@freshet/lab/dist/caches/cache-process.js'
import { startSquid } from '@freshet/lab/dist/caches/squid.js'
import { startVarnish } from '@freshet/lab/dist/caches/varnish.js'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeInChromium, startChromium } from '../end-to-end/chromium.js'
import { endFreshetProcesses, type FreshetProcess, startFreshet } from '../end-to-end/freshet-process.js'
import { keepCopies } from '../end-to-end/kept-samples.js'
import { reasonToSkip } from '../runner/services.js'

const SEEN_MS_MAX = 30_000
const SCREENSHOTS = process.env.FRESHET_SCREENSHOTS
const skips = reasonToSkip('varnish') !== undefined || reasonToSkip('squid') !== undefined

describeInChromium('the demo page behind Squid and Varnish', () => {
  const folder = mkdtempSync(join(tmpdir(), 'freshet-demo-caches-'))
  let server: FreshetProcess
  let browser: Browser
  let url: string

  beforeAll(async () => {
    server = await startFreshet(['dev', '--data', join(folder, 'data')])
    await keepCopies(server)
    browser = await startChromium()
    const varnish = await startVarnish({ origin: server.url })
    url = (await startSquid({ origin: varnish.url })).url
  })

  afterAll(async () => {
    await browser?.close()
    await endCaches()
    await endFreshetProcesses()
    rmSync(folder, { recursive: true, force: true })
  })

  /** In a separate browser, with an empty cache. */
  async function open(): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1040, height: 970 } })
    const page = await context.newPage()
    await page.goto(url)
    await expect.poll(() => page.locator('#products .fresh-cell').first().textContent(), SEEN).toContain('€')
    return page
  }

  const SEEN = { timeout: SEEN_MS_MAX }

  async function count(page: Page, reader: string, column: string): Promise<number> {
    const text = await page.locator(`#${reader}-tally [data-count=${column}]`).textContent()
    return Number(text!.replaceAll(',', ''))
  }

  test.skipIf(skips)('a second browser is served by the shared caches, and shows it', async () => {
    const first = await open()
    await expect.poll(() => count(first, 'plain', 'reads'), SEEN).toBeGreaterThan(3)
    const second = await open()
    await expect.poll(() => count(second, 'plain', 'reads'), SEEN).toBeGreaterThan(3)
    // The first browser fetched these a moment ago: they are less than a second old, so no age shows the cache.
    expect(await count(second, 'plain', 'shared')).toBeGreaterThanOrEqual(3)
    expect(await count(second, 'plain', 'server')).toBe(0)
    await first.context().close()
    await second.context().close()
  })

  test.skipIf(skips)('a write in one browser appears in another, where plain fetch returns stale data', async () => {
    const writer = await open()
    const reader = await open()
    await expect.poll(() => count(reader, 'plain', 'reads'), SEEN).toBeGreaterThan(3)
    await writer.click('[data-product=tea] button[aria-label^=Raise]')
    await expect.poll(() => writer.locator('#write-status').textContent(), SEEN).toContain('Written')
    const price = (await writer.locator('[data-product=tea] output').textContent())!
    const fresh = reader.locator('[data-product=tea] .fresh-cell')
    await expect.poll(() => fresh.textContent(), SEEN).toContain(price)
    await expect.poll(() => count(reader, 'plain', 'stale'), SEEN).toBeGreaterThan(4)
    expect(await reader.locator('[data-product=tea] .plain-cell').textContent()).not.toContain(price)
    expect(await count(reader, 'fresh', 'stale')).toBe(0)
    await expect.poll(() => count(reader, 'fresh', 'browser')).toBeGreaterThan(0)
    // The next write here continues from what others have written.
    expect(await reader.locator('[data-product=tea] output').textContent()).toBe(price)
    if (SCREENSHOTS) await reader.screenshot({ path: join(SCREENSHOTS, 'demo-page.png') })
    await writer.context().close()
    await reader.context().close()
  })
})
