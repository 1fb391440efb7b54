/** The console's editor of objects when other clients write too, and with values that JavaScript would change. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { describeInChromium } from './chromium.js'
import { SEEN_MS_MAX, sees } from './console-scene.js'
import { useConsole } from './use-console.js'

describeInChromium('the editor of the console', () => {
  const used = useConsole({ isFilled: false })

  const stored = async (path: string) => {
    const { position } = (await (await fetch(`${used.server.url}/ready`)).json()) as { position: number }
    return (await fetch(`${used.server.url}${path}?at=${position}`)).text()
  }
  const putText = (path: string, body: string) =>
    fetch(used.server.url + path, { method: 'PUT', headers: { 'content-type': 'application/json' }, body })

  test('an object that another client deleted is reported, and can be saved again', async () => {
    await used.server.put('/db/shop/products/cup', { price: 1 })
    const page = await used.watched.open('#/data/shop/products/cup')
    await shows(page, '"price": 1')
    await fetch(`${used.server.url}/db/shop/products/cup`, { method: 'DELETE' })
    await sees(page, 'Another client has deleted it.')
    await page.getByLabel('Value, as JSON').fill('{"price": 2}')
    await page.getByRole('button', { name: 'Save' }).click()
    await sees(page, 'Another client has deleted it. Save to create it again.')
    await page.getByRole('button', { name: 'Save' }).click()
    await sees(page, /Saved as version \d+/)
    expect(JSON.parse(await stored('/db/shop/products/cup'))).toEqual({ price: 2 })
    used.watched.forgive(/404|412/)
  })

  test('numbers keep their digits, even those that JavaScript would round', async () => {
    await putText('/db/shop/products/long', '{"n":12345678901234567890,"deep":[{"d":0.12345678901234567890}],"x":1.0}')
    const page = await used.watched.open('#/data/shop/products/long')
    await shows(page, '"n": 12345678901234567890')
    const value = page.getByLabel('Value, as JSON')
    await value.fill((await value.inputValue()).replace('"x": 1.0', '"x": 2'))
    await page.getByRole('button', { name: 'Save' }).click()
    await sees(page, /Saved as version \d+/)
    const now = (await stored('/db/shop/products/long')).replaceAll(/\s/g, '')
    expect(now).toBe('{"n":12345678901234567890,"deep":[{"d":0.12345678901234567890}],"x":2}')
    await shows(page, '"n": 12345678901234567890')
  })

  test("numbers keep their digits in a merge, even if they differ only beyond JavaScript's precision", async () => {
    await putText('/db/shop/products/merged', '{"theirs":10000000000000000001,"mine":1,"same":9007199254740993}')
    const page = await used.watched.open('#/data/shop/products/merged')
    await shows(page, '10000000000000000001')
    await putText('/db/shop/products/merged', '{"theirs":10000000000000000002,"mine":1,"same":9007199254740993}')
    const value = page.getByLabel('Value, as JSON')
    await value.fill((await value.inputValue()).replace('"mine": 1', '"mine": 20000000000000000003'))
    await page.getByRole('button', { name: 'Save' }).click()
    await sees(page, 'Another client was faster.')
    const row = page.locator('.conflict tr').filter({ has: page.getByRole('rowheader', { name: 'theirs' }) })
    expect(await row.textContent()).toContain('they changed it')
    await page.getByRole('button', { name: 'Merge' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await sees(page, /Saved as version \d+/)
    expect((await stored('/db/shop/products/merged')).replaceAll(/\s/g, '')).toBe(
      '{"theirs":10000000000000000002,"mine":20000000000000000003,"same":9007199254740993}',
    )
    used.watched.forgive(/412/)
  })
})

async function shows(page: Page, text: string): Promise<void> {
  const value = page.getByLabel('Value, as JSON')
  await expect.poll(() => value.inputValue(), { timeout: SEEN_MS_MAX }).toContain(text)
}
