/** The console's page of caches with a real Varnish: pending purges, and the doctor, started from the browser. */

import { freePort } from '@freshet/engines/under-test/free-port'
import { endCaches, type RunningCache } from '@freshet/lab/dist/caches/cache-process.js'
import { startVarnish } from '@freshet/lab/dist/caches/varnish.js'
import { afterAll, expect, test } from 'vitest'
import { describeInChromium } from '../end-to-end/chromium.js'
import { expectWellMade, SEEN_MS_MAX, sees, watch } from '../end-to-end/console-scene.js'
import { serveConsole } from '../end-to-end/use-console.js'
import { reasonToSkip } from '../runner/services.js'

const skips = reasonToSkip('varnish') !== undefined
/** Some of the doctor's checks take as long as copies live. */
const DOCTOR_MS_MAX = 60_000

describeInChromium('the console of a server with a cache', () => {
  let varnish: RunningCache
  const served = serveConsole(async () => {
    const port = await freePort()
    varnish = await startVarnish({ origin: `http://127.0.0.1:${port}` })
    const caches = [{ name: 'edge', kind: 'varnish', url: varnish.url, secret: varnish.secret }]
    return { caches, flags: ['--port', `${port}`] }
  })

  afterAll(endCaches)

  test.skipIf(skips)('shows which purges a cache received, and what the doctor finds', async () => {
    await served.server.put('/db/shop/products/tea', { price: 7 })
    const { open, complaints, close } = await watch(served.browser, served.server.url)
    await fetch(`${varnish.url}/db/shop/products/tea`)
    await fetch(`${served.server.url}/db/shop/products/tea`)
    const page = await open()
    const asked = page.getByRole('region', { name: 'Reads by cache' })
    await expect
      .poll(() => asked.textContent(), { timeout: SEEN_MS_MAX })
      .toMatch(/Varnish.*no cache|no cache.*Varnish/)
    await expectWellMade(page, 'overview')
    await page.goto(`${served.server.url}/console#/caches`)
    await sees(page, 'edge (varnish)')
    const purged = page.locator('.facts div', { hasText: 'Purged' }).locator('dd')
    await expect
      .poll(async () => Number.parseInt((await purged.textContent())!, 10), { timeout: SEEN_MS_MAX })
      .toBeGreaterThan(0)
    await page.getByRole('button', { name: 'Run the doctor' }).click()
    await expect.poll(() => page.locator('progress').count(), { timeout: SEEN_MS_MAX }).toBe(1)
    await expect.poll(() => page.locator('.plain-list li').count(), { timeout: DOCTOR_MS_MAX }).toBeGreaterThan(20)
    expect(await page.locator('.plain-list li:has(.badge.error)').allTextContents()).toEqual([])
    expect(await page.locator('.notice').textContent()).toBe(
      'Readers that use Freshet get nothing stale through this cache.',
    )
    expect(complaints).toEqual([])
    await close()
  })

  test.skipIf(skips)('is never stale itself, even when viewed through the cache', async () => {
    await served.server.put('/db/shop/products/pot', { price: 1 })
    const { open, close } = await watch(served.browser, varnish.url)
    const page = await open('#/data/shop/products/pot')
    const value = () => page.getByLabel('Value, as JSON').inputValue()
    await expect.poll(value, { timeout: SEEN_MS_MAX }).toContain('"price": 1')
    for (let price = 2; price < 6; price++) {
      await served.server.put('/db/shop/products/pot', { price })
      await page.goto(`${varnish.url}/console#/data/shop/products`)
      await sees(page, `"price":${price}`)
      await page.goto(`${varnish.url}/console#/data/shop/products/pot`)
      await expect.poll(value, { timeout: SEEN_MS_MAX }).not.toBe('')
      expect(JSON.parse(await value())).toEqual({ price })
    }
    await close()
  })
})
