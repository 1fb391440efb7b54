/** The page of `npm start`, in a real browser: one writer, and two readers behind the browser's own cache. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { describeInChromium, expectUsable, startChromium } from './chromium.js'
import { endFreshetProcesses, type FreshetProcess, startFreshet } from './freshet-process.js'
import { keepCopies } from './kept-samples.js'

/** Long enough for a busy machine. */
const SEEN_MS_MAX = 30_000

describeInChromium('the demo page', () => {
  const folder = mkdtempSync(join(tmpdir(), 'freshet-demo-'))
  let server: FreshetProcess
  let browser: Browser
  let context: BrowserContext
  let complaints: string[]
  let hosts: Set<string>

  beforeAll(async () => {
    server = await startFreshet(['dev', '--data', join(folder, 'data')])
    await keepCopies(server)
    browser = await startChromium()
  })

  afterAll(async () => {
    await browser?.close()
    await endFreshetProcesses()
    rmSync(folder, { recursive: true, force: true })
  })

  beforeEach(async () => {
    complaints = []
    hosts = new Set()
    context = await browser.newContext()
  })

  afterEach(async () => {
    await context.close()
    expect(complaints).toEqual([])
    // The icon is part of the page, a data: URL without a host.
    expect([...hosts].filter(host => host !== '')).toEqual([`localhost:${server.port}`])
  })

  /** Opens the page, and waits until both readers have read. */
  async function open(in_: BrowserContext = context, path = '/'): Promise<Page> {
    const page = await in_.newPage()
    page.on('pageerror', error => complaints.push(String(error)))
    page.on('console', message => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()))
    page.on('request', sent => hosts.add(new URL(sent.url()).host))
    await page.goto(`http://localhost:${server.port}${path}`)
    for (const reader of ['plain', 'fresh']) await expect.poll(() => shown(page, 'tea', reader)).toContain('€')
    return page
  }

  function cell(page: Page, id: string, reader: string) {
    return page.locator(`[data-product=${id}] .${reader}-cell`)
  }

  function shown(page: Page, id: string, reader: string): Promise<string | null> {
    return cell(page, id, reader).textContent()
  }

  async function count(page: Page, reader: string, column: string): Promise<number> {
    const text = await page.locator(`#${reader}-tally [data-count=${column}]`).textContent()
    return Number(text!.replaceAll(',', ''))
  }

  /** All numbers from the same moment. */
  async function tally(page: Page, reader: string) {
    const texts = await page.locator(`#${reader}-tally [data-count]`).allTextContents()
    const [all, cached, , served] = texts.map(text => Number(text.replaceAll(',', '')))
    return { all: all!, cached: cached!, served: served!, cachedShare: cached! / all! }
  }

  /** Raises the price by one; resolves with the price that the page then shows. */
  async function raise(page: Page, id: 'tea' | 'mug' | 'kettle'): Promise<string> {
    const price = page.locator(`[data-product=${id}] output`)
    const before = await price.textContent()
    await page.click(`[data-product=${id}] button[aria-label^=Raise]`)
    await expect.poll(() => price.textContent(), { timeout: SEEN_MS_MAX }).not.toBe(before)
    return (await price.textContent())!
  }

  test('the Freshet reader of another tab sees a write, while plain fetch returns stale data', async () => {
    const writer = await open()
    const reader = await open()
    const price = await raise(writer, 'tea')
    await expect.poll(() => shown(reader, 'tea', 'fresh'), { timeout: SEEN_MS_MAX }).toContain(price)
    expect(await shown(reader, 'tea', 'fresh')).toContain('current')
    expect(await shown(reader, 'tea', 'fresh')).toMatch(/\?at=\d+$/)
    await expect.poll(() => shown(reader, 'tea', 'plain'), { timeout: SEEN_MS_MAX }).toContain('stale for')
    expect(await shown(reader, 'tea', 'plain')).not.toContain(price)
    await expect.poll(() => count(reader, 'plain', 'stale'), { timeout: SEEN_MS_MAX }).toBeGreaterThan(0)
    expect(await count(reader, 'fresh', 'stale')).toBe(0)
  })

  test('a write is seen in another browser too, which shares no cache and no tab', async () => {
    const [writer, elsewhere] = [await open(), await browser.newContext()]
    const reader = await open(elsewhere)
    const price = await raise(writer, 'mug')
    await expect.poll(() => shown(reader, 'mug', 'fresh'), { timeout: SEEN_MS_MAX }).toContain(price)
    await elsewhere.close()
  })

  test('both readers are mostly served by the cache, and go to the server after a change', async () => {
    const page = await open()
    await expect.poll(() => count(page, 'fresh', 'reads')).toBeGreaterThan(12)
    for (const reader of ['plain', 'fresh']) {
      // A busy browser reports late that it had a copy itself.
      await expect.poll(async () => (await tally(page, reader)).cachedShare).toBeGreaterThan(0.5)
      const { all, cached, served } = await tally(page, reader)
      expect(cached + served).toBe(all)
    }
    await expect.poll(async () => Number(await page.locator('#sketch-requests').textContent())).toBeGreaterThan(2)
  })

  test("the session link lets another browser continue from this one's state", async () => {
    const page = await open()
    const price = await raise(page, 'kettle')
    await expect.poll(() => shown(page, 'kettle', 'fresh'), { timeout: SEEN_MS_MAX }).toContain(price)
    const link = new URL(await page.locator('#session-link').inputValue())
    const elsewhere = await browser.newContext()
    const other = await open(elsewhere, `/${link.hash}`)
    expect(await shown(other, 'kettle', 'fresh')).toContain(price)
    expect(await other.locator('#continued').textContent()).toContain('continues a session')
    await elsewhere.close()
  })

  test('the strip shows the log position and the sketch, and grows with a write', async () => {
    const page = await open()
    const position = async () => Number(await page.locator('#sketch-position').textContent())
    await expect.poll(position, { timeout: SEEN_MS_MAX }).toBeGreaterThan(0)
    const before = await position()
    await raise(page, 'tea')
    await expect.poll(position, { timeout: SEEN_MS_MAX }).toBeGreaterThan(before)
    expect(await page.locator('#sketch-strip i').count()).toBeGreaterThan(0)
    expect(await page.locator('#sketch-size').textContent()).toMatch(/^[\d,]+ bytes$/)
  })

  test('it can be used with the keyboard alone: a name is edited, the readers are paused', async () => {
    const page = await open()
    await page.focus('[data-product=mug] input')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('Red mug')
    await page.keyboard.press('Enter')
    await expect.poll(() => shown(page, 'mug', 'fresh'), { timeout: SEEN_MS_MAX }).toContain('Red mug')
    await page.focus('#pause')
    await page.keyboard.press('Space')
    expect(await page.locator('#pause').getAttribute('aria-pressed')).toBe('true')
  })

  test('every control has a name, and the page fits a phone', async () => {
    const page = await open()
    await expectUsable(page, 'input, button, a, output, [role=img]')
  })

  test('all its links work', async () => {
    const page = await open()
    const links = await page.locator('footer a').evaluateAll(all => all.map(link => (link as HTMLAnchorElement).href))
    expect(links).toHaveLength(4)
    for (const link of links) expect((await fetch(link)).status, link).toBe(200)
  })
})

test('without the page, / still lists the routes in JSON', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'freshet-no-page-'))
  const server = await startFreshet(['dev', '--no-page', '--data', join(folder, 'data')])
  const root = await fetch(server.url, { headers: { accept: 'text/html' } })
  expect(await root.json()).toMatchObject({ name: 'freshet' })
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})
