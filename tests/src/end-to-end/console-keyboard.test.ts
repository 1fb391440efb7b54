/** The console for a new user, and for a user without a mouse. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { describeInChromium } from './chromium.js'
import { expectWellMade, SEEN_MS_MAX, sees } from './console-scene.js'
import { useConsole } from './use-console.js'

describeInChromium('the console without a mouse', () => {
  const used = useConsole({ isFilled: true })

  async function enter(page: Page, label: string, text: string): Promise<void> {
    await page.getByLabel(label, { exact: true }).fill(text)
    await page.keyboard.press('Enter')
  }

  test('Enter in a field works like the button beside it', async () => {
    const page = await used.watched.open('#/data')
    await enter(page, 'Name', 'lab/things')
    await page.waitForURL(/#\/data\/lab\/things$/)
    await page.goto(`${used.server.url}/console#/counters`)
    await sees(page, 'New bucket of counters')
    await enter(page, 'Name', 'lab/clicks')
    await page.waitForURL(/#\/counters\/lab\/clicks$/)
    await page.getByLabel('Counter', { exact: true }).fill('green')
    await enter(page, 'Add', '3')
    await sees(page, 'green is 3.')
    await page.goto(`${used.server.url}/console#/queries/shop/books`)
    await enter(page, 'At most', '2')
    await sees(page, 'b1965')
  })

  test('an invalid bucket name is refused with the rules for names', async () => {
    const page = await used.watched.open('#/data')
    for (const name of ['things', 'Bad Name', '']) {
      await enter(page, 'Name', name)
      await sees(page, 'A bucket is named as namespace/bucket')
      await page.reload()
    }
  })

  test('a page opened by its keys has the focus: the next Tab stays in it', async () => {
    const page = await used.watched.open('#/logs')
    await page.getByRole('button', { name: 'Token' }).focus()
    await page.keyboard.press('g')
    await page.keyboard.press('q')
    await sees(page, 'What a filter finds')
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('main')
    // Its controls appear with its data.
    await page.locator('main :is(a[href], button:enabled, input:enabled, select:enabled):visible').first().waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true)
  })

  test('the title of the tab names the page', async () => {
    const page = await used.watched.open('#/data/shop/books/b1984')
    const titled = (title: string) => expect.poll(() => page.title(), { timeout: SEEN_MS_MAX }).toBe(title)
    await titled('shop/books/b1984 · Data · Freshet console')
    await page.keyboard.press('g')
    await page.keyboard.press('l')
    await titled('Logs · Freshet console')
  })

  test('the address of an unknown page, or of one that this server does not have, is reported', async () => {
    for (const name of ['nonsense', 'shards']) {
      const page = await used.watched.open(`#/${name}`)
      await sees(page, `There is no page “${name}” on this server.`)
      await page.getByRole('link', { name: 'Logs' }).click()
      await expect.poll(() => page.getByText('There is no page').isVisible()).toBe(false)
    }
  })

  test('a new object without an id says what is missing', async () => {
    const page = await used.watched.open('#/data/shop/books')
    await page.getByRole('button', { name: 'New object' }).click()
    await sees(page, 'Enter an id for the new object.')
    await expectWellMade(page, 'data-no-id')
  })

  test('the note about missing rules links to their explanation', async () => {
    const page = await used.watched.open()
    await page.getByRole('link', { name: 'no access rules' }).click()
    await sees(page, 'anyone who reaches it may do everything')
    await expectWellMade(page, 'access-from-badge')
  })
})
