/**
 * The tutorials, followed block by block: in a shell, with the files that they have the reader save, and in a real browser. One
 * server runs through all of them, at another port than in the text. Each is followed twice, with the same data, and with
 * everything still running that was started before.
 *
 * If FRESHET_SCREENSHOTS names a folder, a picture of the app is saved there.
 */
import { join } from 'node:path'
import { freePort } from '@freshet/engines/under-test/free-port'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { describeInChromium, startChromium } from './chromium.js'
import { type FreshetProcess, startFreshet } from './freshet-process.js'
import { heartbeats } from './heartbeats.js'
import { useFolder } from './test-folder.js'
import { TutorialReader } from './tutorial-reader.js'

const SCREENSHOTS = process.env.FRESHET_SCREENSHOTS
/** The face that the tutorial draws. */
const MOUTH = '3-5'
const ORANGE = 'rgb(230, 159, 0)'
const TIMES = ['the first time', 'again']

describeInChromium('the tutorials', () => {
  const folder = useFolder('tutorials')
  let server: FreshetProcess
  let reader: TutorialReader
  let cachePort: number
  let browser: Browser
  const problems: string[] = []

  beforeAll(async () => {
    server = await startFreshet(['dev', '--data', join(folder(), 'data')])
    cachePort = await freePort()
    reader = new TutorialReader({ 7700: server.port, 8080: cachePort })
    browser = await startChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await reader?.stop()
  })

  async function open(address: string): Promise<Page> {
    const page = await browser.newPage()
    page.on('pageerror', error => problems.push(error.message))
    await page.goto(address)
    return page
  }

  const withCurl = test.skipIf(reasonToSkip('curl') !== undefined)

  withCurl.each(TIMES)('first-steps prints what it says, %s', async () => {
    expect(await reader.follow('docs/tutorials/first-steps.md')).toBe(1)
  })

  withCurl.each(TIMES)('purge-race prints what it says, and its page survives races, %s', async () => {
    expect(await reader.follow('docs/tutorials/purge-race.md')).toBe(7)
    const page = await open(`http://localhost:${cachePort}/page.html`)
    for (let race = 0; race < 3; race++) {
      const before = await page.locator('#written').innerText()
      await page.getByRole('button').click()
      await expect.poll(() => page.locator('#written').innerText()).not.toBe(before)
      const written = Number(await page.locator('#written').innerText())
      await expect.poll(() => page.locator('#freshet').innerText()).toBe(`${written}`)
      expect(Number(await page.locator('#plain').innerText())).toBeLessThan(written)
    }
    expect([await page.locator('#problem').innerText(), problems]).toEqual(['', []])
    await page.close()
  })

  withCurl.each(TIMES)('your-own-app makes an app that shows what others change, %s', async time => {
    await reader.follow('docs/tutorials/your-own-app.md', 'my-app')
    const [address] = [...reader.addresses].find(([command]) => command.startsWith('npx vite'))!.slice(1)
    const [one, two] = [await open(address!), await open(address!)]
    const colourOf = (page: Page, pixel: string) =>
      page.getByLabel(pixel, { exact: true }).evaluate(button => getComputedStyle(button).backgroundColor)
    for (const page of [one, two]) await expect.poll(() => colourOf(page, MOUTH)).toBe(ORANGE)
    if (SCREENSHOTS) await one.setViewportSize({ width: 480, height: 640 })
    if (SCREENSHOTS) await one.screenshot({ path: join(SCREENSHOTS, 'your-own-app.png') })

    const colour = time === TIMES[0] ? '#009e73' : '#cc79a7'
    await one.getByLabel('Your colour').fill(colour)
    await one.getByLabel('7-7', { exact: true }).click()
    const painted = await one.evaluate(name => {
      document.body.style.color = name
      return getComputedStyle(document.body).color
    }, colour)
    for (const page of [one, two]) await expect.poll(() => colourOf(page, '7-7')).toBe(painted)
    expect(await two.getByRole('status').innerText()).toBe('9 of 64 pixels are painted.')

    const sent: string[] = []
    one.on('request', request => sent.push(request.url()))
    await heartbeats(server.url, 2)
    expect(sent, 'a page on which nothing happens sends no request').toEqual([])
    expect(problems).toEqual([])
    await Promise.all([one.close(), two.close()])
  })
})
