/** The console's editor of objects when others write too. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { describeInChromium, startChromium } from './chromium.js'
import { type ConsoleServer, SEEN_MS_MAX, sees, startConsoleServer, type Watched, watch } from './console-scene.js'
import { endFreshetProcesses } from './freshet-process.js'

describeInChromium('the editor of the console', () => {
  let server: ConsoleServer
  let browser: Browser
  let watched: Watched

  beforeAll(async () => {
    server = await startConsoleServer()
    browser = await startChromium()
  })

  afterAll(async () => {
    await browser?.close()
    await server?.stop()
    await endFreshetProcesses()
  })

  beforeEach(async () => {
    watched = await watch(browser, server.url)
  })

  afterEach(async () => {
    await watched.close()
    expect(watched.complaints).toEqual([])
  })

  const stored = async (path: string) => {
    const { position } = (await (await fetch(`${server.url}/ready`)).json()) as { position: number }
    return (await fetch(`${server.url}${path}?at=${position}`)).text()
  }

  test('what somebody else has deleted is told of, and saved anew', async () => {
    await server.put('/db/shop/products/cup', { price: 1 })
    const page = await watched.open('#/data/shop/products/cup')
    await shows(page, '"price": 1')
    await fetch(`${server.url}/db/shop/products/cup`, { method: 'DELETE' })
    await sees(page, 'Somebody has deleted it meanwhile.')
    await page.getByLabel('Value, as JSON').fill('{"price": 2}')
    await page.getByRole('button', { name: 'Save' }).click()
    await sees(page, 'Somebody has deleted it meanwhile. Save again to create it anew.')
    await page.getByRole('button', { name: 'Save' }).click()
    await sees(page, /Saved as version \d+/)
    expect(JSON.parse(await stored('/db/shop/products/cup'))).toEqual({ price: 2 })
    watched.forgive(/404|412/)
  })
})

async function shows(page: Page, text: string): Promise<void> {
  const value = page.getByLabel('Value, as JSON')
  await expect.poll(() => value.inputValue(), { timeout: SEEN_MS_MAX }).toContain(text)
}
