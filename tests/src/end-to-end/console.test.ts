/** The console in a real browser: every page, in both colour schemes, with hostile values and users. */
import { gzipSync } from 'node:zlib'
import { listConsoleFiles } from '@freshet/console'
import { signToken } from '@freshet/server'
import type { Page } from 'playwright-core'
import { afterEach, expect, test } from 'vitest'
import { describeInChromium } from './chromium.js'
import {
  HOSTILE,
  HOSTILE_ID,
  photograph,
  SCREENSHOTS,
  SEEN_MS_MAX,
  sees,
  startConsoleServer,
  violationsOf,
  watch,
} from './console-scene.js'
import { serveConsole, useConsole } from './use-console.js'

const FIRST_VIEW_BYTES_MAX = 150_000
const ALL_BYTES_MAX = 200_000

interface Shown {
  readonly name: string
  /** The path below #/. */
  readonly path: string
  readonly text: string | RegExp
}

/** Every page of the menu, and a text on it. */
const PAGES: readonly Shown[] = [
  { name: 'Overview', path: 'overview', text: 'Requests a second' },
  { name: 'Data', path: 'data/shop/books', text: 'b1984' },
  { name: 'Data', path: 'data/shop/products/tea', text: 'History' },
  { name: 'Schema', path: 'schema/shop/books', text: /Version 1, from position/ },
  { name: 'Queries', path: 'queries/shop/books', text: 'Explain' },
  { name: 'Counters', path: 'counters/shop/views', text: 'All together:' },
  { name: 'Transactions', path: 'transactions', text: /was read as 1/ },
  { name: 'Caches', path: 'caches', text: 'edge (varnish)' },
  { name: 'Tasks', path: 'tasks', text: 'by-year' },
  { name: 'Access', path: 'access', text: 'Try as this user' },
  { name: 'Logs', path: 'logs', text: 'listening' },
  { name: 'JavaScript', path: 'javascript', text: 'Output' },
]

describeInChromium('the console', () => {
  // Nothing listens there: the page has something to show, and no cache is notified.
  const used = useConsole({ isFilled: true, caches: [{ name: 'edge', kind: 'varnish', url: 'http://127.0.0.1:9' }] })

  afterEach(() => {
    const own = ['', `localhost:${used.server.process.port}`]
    expect([...used.watched.hosts].filter(host => !own.includes(host))).toEqual([])
  })

  test('the menu has every page, and each can be reached by keyboard alone', async () => {
    const page = await used.watched.open()
    const names = await page.locator('nav a').allTextContents()
    expect(names).toEqual([...new Set(PAGES.map(({ name }) => name))])
    const keys = await page.locator('nav a').evaluateAll(links => links.map(link => (link as HTMLElement).dataset.key!))
    for (const [i, name] of names.entries()) {
      for (const key of keys[i]!.split(' ')) await page.keyboard.press(key)
      await expect.poll(() => page.locator('h1').textContent(), { timeout: SEEN_MS_MAX }).toBe(name)
    }
    await page.reload()
    await page.waitForSelector('h1')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the page')
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`every page is accessible, fits a phone and shows its text: ${colorScheme}`, async () => {
      const phone = await watch(used.browser, used.server.url, { colorScheme, width: 360, height: 740 })
      const page = await phone.open()
      for (const { path, text } of PAGES) {
        await page.goto(`${used.server.url}/console#/${path}`)
        await sees(page, text)
        await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth), { message: path }).toBe(360)
        expect([path, await violationsOf(page)]).toEqual([path, []])
        if (colorScheme === 'dark' && path === 'data/shop/books') await photograph(page, 'phone')
      }
      await page.setViewportSize({ width: 1280, height: 860 })
      for (const { path, text } of PAGES) {
        await page.goto(`${used.server.url}/console#/${path}`)
        await sees(page, text)
        expect([path, await violationsOf(page)]).toEqual([path, []])
      }
      await phone.close()
      expect(phone.complaints).toEqual([])
    })
  }

  test('the first view loads little, and the whole console is small', async () => {
    const page = await used.watched.open()
    await sees(page, 'Milliseconds')
    await expect.poll(() => page.locator('.legend b').first().textContent(), { timeout: SEEN_MS_MAX }).not.toBe('–')
    const bytes = await page.evaluate(() =>
      performance
        .getEntries()
        .filter(({ name }) => name.includes('/console'))
        .map(entry => (entry as PerformanceResourceTiming).transferSize ?? 0)
        .reduce((sum, size) => sum + size, 0),
    )
    console.log(`first view of the console: ${bytes} bytes`)
    expect(bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThan(FIRST_VIEW_BYTES_MAX)
    const all = Object.values(listConsoleFiles()).reduce((sum, { body }) => sum + gzipSync(body).length, 0)
    console.log(`all of the console, by gzip: ${all} bytes`)
    expect(all).toBeLessThan(ALL_BYTES_MAX)
  })

  test('the figures of the overview change while others read and write', async () => {
    const page = await used.watched.open()
    await sees(page, 'Commits a second')
    const writes = setInterval(() => void used.server.put('/db/shop/products/mug', { price: Math.random() }), 50)
    const commits = page.locator('.chart', { hasText: 'Commits a second' }).locator('.legend b').first()
    await expect.poll(async () => Number(await commits.textContent()), { timeout: SEEN_MS_MAX }).toBeGreaterThan(1)
    // For lines that say something.
    if (SCREENSHOTS) await page.waitForTimeout(30_000)
    clearInterval(writes)
    await photograph(page, 'overview')
    expect(await page.locator('.chart canvas').count()).toBe(4)
    const isDrawn = () =>
      page
        .locator('.chart canvas')
        .first()
        .evaluate(canvas => {
          const { width, height } = canvas as HTMLCanvasElement
          const { data } = (canvas as HTMLCanvasElement).getContext('2d')!.getImageData(0, 0, width, height)
          return data.some(value => value !== 0)
        })
    await expect.poll(isDrawn).toBe(true)
  })

  test('hostile values and ids are text, wherever they are shown', async () => {
    const page = await used.watched.open('#/data/shop/notes')
    await sees(page, 'globalThis.wasRun')
    await sees(page, HOSTILE_ID)
    await page.getByRole('link', { name: HOSTILE_ID }).click()
    await expect.poll(() => valueIn(page), { timeout: SEEN_MS_MAX }).toContain('its id is hostile')
    await page.goto(`${used.server.url}/console#/data/shop/notes/hostile`)
    await expect.poll(() => valueIn(page), { timeout: SEEN_MS_MAX }).toContain(JSON.stringify(HOSTILE).slice(1, -1))
    await page.goto(`${used.server.url}/console#/queries/shop/notes`)
    await page.getByRole('button', { name: 'Run' }).click()
    await sees(page, 'globalThis.wasRun')
    expect(await page.locator('main script, main img, main b b').count()).toBe(0)
    expect(await page.evaluate(() => 'wasRun' in globalThis)).toBe(false)
  })

  test('an object is created, changed and deleted; its history shows it', async () => {
    const page = await used.watched.open('#/data/shop/products')
    await page.getByLabel('New id').fill('scale')
    await page.keyboard.press('Enter')
    await sees(page, 'It does not exist yet.')
    await page.getByLabel('Value, as JSON').fill('{"price": 3}')
    await page.getByRole('button', { name: 'Save' }).click()
    await sees(page, /Saved as version \d+/)
    await page.getByLabel('Value, as JSON').fill('{"price": 4')
    await page.getByRole('button', { name: 'Save' }).click()
    await sees(page, /This is not JSON/)
    await page.getByLabel('Value, as JSON').fill('{"price": 4}')
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => page.locator('table tbody tr').count(), { timeout: SEEN_MS_MAX }).toBe(2)
    expect(await (await fetch(`${used.server.url}/db/shop/products/scale`, { cache: 'no-store' })).json()).toEqual({
      price: 4,
    })
    page.once('dialog', dialog => void dialog.accept())
    await page.getByRole('button', { name: 'Delete' }).click()
    await expect
      .poll(async () => (await fetch(`${used.server.url}/db/shop/products/scale?settings`)).status)
      .not.toBe(200)
    await sees(page, 'tea')
    expect(await page.getByRole('link', { name: 'scale' }).count()).toBe(0)
    used.watched.forgive(/404/)
  })

  test('text in a bucket of bytes is shown, changed and checked; bytes that are not text are reported', async () => {
    await used.server.put('/db/shop/pictures/note', {}, { 'content-type': 'text/plain' })
    await used.server.put('/db/shop/pictures/dot', {}, { 'content-type': 'image/png' })
    const page = await used.watched.open('#/data/shop/pictures')
    await page.getByRole('link', { name: 'note', exact: true }).click()
    const text = page.getByLabel('Value, as text')
    await expect.poll(() => text.inputValue(), { timeout: SEEN_MS_MAX }).toBe('{}')
    await used.server.put('/db/shop/pictures/note', { by: 'another' }, { 'content-type': 'text/plain' })
    await text.fill(HOSTILE)
    await page.getByRole('button', { name: 'Save' }).click()
    await sees(page, /Another client was faster/)
    await page.reload()
    await expect.poll(() => text.inputValue(), { timeout: SEEN_MS_MAX }).toBe('{"by":"another"}')
    await text.fill(HOSTILE)
    await page.getByRole('button', { name: 'Save' }).click()
    await sees(page, 'Saved.')
    await page.goto(`${used.server.url}/console#/data/shop/pictures/dot`)
    await sees(page, /2 bytes/)
    expect(await text.count()).toBe(0)
    used.watched.forgive(/412/)
  })

  test('a user who saves too late is shown both sides, merges, and loses nothing', async () => {
    await used.server.put('/db/shop/products/lamp', { name: 'Lamp', price: 20, colour: 'red' })
    const page = await used.watched.open('#/data/shop/products/lamp')
    await expect.poll(() => valueIn(page), { timeout: SEEN_MS_MAX }).toContain('"price": 20')
    await used.server.put('/db/shop/products/lamp', { name: 'Lamp', price: 25, colour: 'blue', stock: 3 })
    await page.getByLabel('Value, as JSON').fill('{"name": "Big lamp", "price": 30, "colour": "red"}')
    await page.getByRole('button', { name: 'Save' }).click()
    await sees(page, 'Another client was faster.')
    expect(await violationsOf(page)).toEqual([])
    const row = (field: string) => page.locator('.conflict tr', { hasText: field }).textContent()
    await photograph(page, 'conflict')
    expect(await row('price')).toContain('both changed it')
    expect(await row('colour')).toContain('they changed it')
    expect(await row('name')).toContain('you changed it')
    await page.locator('.conflict tr', { hasText: 'price' }).getByLabel('mine').check()
    await page.getByRole('button', { name: 'Merge' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await sees(page, /Saved as version/)
    const { position } = (await (await fetch(`${used.server.url}/ready`)).json()) as { position: number }
    expect(await (await fetch(`${used.server.url}/db/shop/products/lamp?at=${position}`)).json()).toEqual({
      name: 'Big lamp',
      price: 30,
      colour: 'blue',
      stock: 3,
    })
    used.watched.forgive(/412/)
  })

  test('a concurrent write by another client is reported', async () => {
    await used.server.put('/db/shop/products/pot', { price: 1 })
    const page = await used.watched.open('#/data/shop/products/pot')
    await expect.poll(() => valueIn(page), { timeout: SEEN_MS_MAX }).toContain('"price": 1')
    await used.server.put('/db/shop/products/pot', { price: 2 })
    await sees(page, /Another client has written it/)
    await page.getByRole('button', { name: 'Show it' }).click()
    await expect.poll(() => valueIn(page), { timeout: SEEN_MS_MAX }).toContain('"price": 2')
  })

  test('a query is run and explained; a filter of the list finds the same', async () => {
    const page = await used.watched.open('#/queries/shop/books')
    await page.getByLabel('Where, as JSON').fill('{"year":{"$gte":1984}}')
    await page.getByRole('button', { name: 'Run' }).click()
    await sees(page, /3 found/)
    await page.getByRole('button', { name: 'Explain' }).click()
    await sees(page, 'by-year')
    await page.goto(`${used.server.url}/console#/data/shop/books`)
    await page.keyboard.press('/')
    await page.getByLabel('Filter, as JSON').fill('{"year":{"$gte":1984}}')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.locator('.objects tbody tr').count(), { timeout: SEEN_MS_MAX }).toBe(3)
  })

  test('a counter is added to', async () => {
    const page = await used.watched.open('#/counters/shop/views')
    const tea = page.locator('tr', { hasText: 'tea' }).locator('td').first()
    await expect.poll(() => tea.textContent(), { timeout: SEEN_MS_MAX }).toMatch(/^\d+$/)
    const before = Number(await tea.textContent())
    await page.getByRole('button', { name: 'Add 1 to tea' }).click()
    await expect.poll(() => tea.textContent(), { timeout: SEEN_MS_MAX }).toBe(`${before + 1}`)
  })

  test('a schema that objects violate is refused with the violations; one that they satisfy is accepted', async () => {
    await used.server.put('/db/shop/plants/fern', { height: 3 })
    const page = await used.watched.open('#/schema/shop/plants')
    const settings = page.getByLabel(/^Settings, as JSON/)
    await expect.poll(() => settings.inputValue(), { timeout: SEEN_MS_MAX }).toContain('"kind"')
    await settings.fill('{"kind":"object","schema":{"required":["name"]}}')
    await page.getByRole('button', { name: 'Save' }).click()
    await sees(page, '/db/shop/plants/fern')
    await settings.fill('{"kind":"object","schema":{"required":["height"]}}')
    await page.getByRole('button', { name: 'Save' }).click()
    await sees(page, /Version 1, from position/)
    used.watched.forgive(/409/)
  })

  test('every example of the JavaScript page runs', async () => {
    const page = await used.watched.open('#/javascript')
    const examples = await page.getByLabel('Example').locator('option').allTextContents()
    expect(examples.length).toBeGreaterThan(5)
    for (const example of examples) {
      await page.getByLabel('Example').selectOption(example)
      await page.getByRole('button', { name: 'Run' }).click()
      await expect
        .poll(() => page.getByRole('button', { name: 'Run' }).isEnabled(), { timeout: SEEN_MS_MAX })
        .toBe(true)
      expect([example, await page.locator('.output .failed').allTextContents()]).toEqual([example, []])
      expect([example, await page.locator('.output pre').count()]).not.toEqual([example, 0])
    }
    expect(await page.locator('.output').textContent()).toContain('ms')
    used.watched.forgive(/409|412/)
  })

  test('code that does not end is stopped, and mistakes are reported; the page itself evaluates nothing', async () => {
    const page = await used.watched.open('#/javascript')
    const run = async (code: string) => {
      await page.getByLabel(/^Code;/).fill(code)
      await page.keyboard.press('Control+Enter')
    }
    await run('for (;;) {}')
    await sees(page, 'Running…')
    await page.getByRole('button', { name: 'Stop' }).click()
    await sees(page, /^Stopped/)
    await run('this is not JavaScript')
    await sees(page, /^SyntaxError/)
    await run('print(typeof document, typeof localStorage, typeof sessionStorage)')
    await sees(page, 'undefined undefined undefined')
    const evaluated = await page.evaluate(() => {
      const script = document.createElement('script')
      script.textContent = 'globalThis.wasRun = true'
      document.body.append(script)
      return 'wasRun' in globalThis
    })
    expect(evaluated).toBe(false)
    used.watched.forgive(/Content Security Policy/)
  })

  test('the colour scheme can be chosen, and is remembered', async () => {
    const page = await used.watched.open()
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const before = await ground()
    const button = page.getByRole('button', { name: /^Colours/ })
    while (!(await button.getAttribute('aria-label'))!.includes('dark')) await button.click()
    expect(await ground()).not.toBe(before)
    const after = await ground()
    await page.reload()
    await page.waitForSelector('h1')
    expect(await ground()).toBe(after)
  })
})

describeInChromium('the console of a server with rules', () => {
  const secret = 'a secret of at least thirty-two bytes'
  const rules = `
admin if claim.role == "admin"
bucket shop/orders
  list if authenticated
  read if object.owner == claim.sub
`
  const tokenOf = (claims: Record<string, unknown>) =>
    signToken({ secret, claims, audience: 'freshet', expiresMs: 600_000 })
  const served = serveConsole({ rules, secret }, async server => {
    const authorization = `Bearer ${await tokenOf({ sub: 'root', role: 'admin' })}`
    await server.put('/db/shop/orders/7', { owner: 'ann' }, { authorization })
  })

  test('asks for a token, shows nothing before, accepts no other, and forgets it with the tab', async () => {
    const { context } = await watch(served.browser, served.server.url)
    const page = await context.newPage()
    await page.goto(`${served.server.url}/console#/data/shop/orders`)
    const dialog = page.getByRole('dialog')
    await expect.poll(() => dialog.textContent(), { timeout: SEEN_MS_MAX }).toContain('for administrators')
    expect(await page.locator('main').textContent()).toBe('')
    expect(await violationsOf(page)).toEqual([])
    for (const [token, answer] of [
      ['rubbish', 'does not accept'],
      [await tokenOf({ sub: 'ann' }), 'do not make its bearer an administrator'],
    ] as const) {
      await dialog.getByLabel('Token').fill(token)
      await dialog.getByRole('button', { name: 'Use it' }).click()
      await expect.poll(() => dialog.textContent(), { timeout: SEEN_MS_MAX }).toContain(answer)
    }
    await dialog.getByLabel('Token').fill(await tokenOf({ sub: 'root', role: 'admin' }))
    await dialog.getByRole('button', { name: 'Use it' }).click()
    await sees(page, 'owner')
    await page.reload()
    await sees(page, 'owner')
    await page.getByRole('button', { name: 'As root' }).click()
    await dialog.getByRole('button', { name: 'Forget the token' }).click()
    await expect.poll(() => dialog.textContent(), { timeout: SEEN_MS_MAX }).toContain('for administrators')
    expect(await page.locator('main').textContent()).not.toContain('owner')
    await page.keyboard.press('Escape')
    await sees(page, /This needs a token/)
    // The page keeps requesting figures, and does not ask for a token again.
    for (let i = 0; i < 2; i++)
      await page.waitForResponse(answer => answer.url().endsWith('/metrics') && answer.status() === 401)
    expect(await dialog.count()).toBe(0)
    const other = await context.newPage()
    await other.goto(`${served.server.url}/console`)
    await expect
      .poll(() => other.getByRole('dialog').textContent(), { timeout: SEEN_MS_MAX })
      .toContain('administrators')
    await context.close()
  })

  test('shows what a user may do, by the rules in effect and by other rules', async () => {
    const { context } = await watch(served.browser, served.server.url)
    await context.addInitScript(
      token => sessionStorage.setItem('freshet-console-token', token),
      await tokenOf({ sub: 'root', role: 'admin' }),
    )
    const page = await context.newPage()
    await page.goto(`${served.server.url}/console#/access`)
    await sees(page, 'object.owner == claim.sub')
    const rightOf = (right: string) => page.locator('.rights li', { hasText: right }).textContent()
    await page.getByLabel('Object or bucket').fill('shop/orders/7')
    await page.getByRole('button', { name: 'What may they do?' }).click()
    await expect.poll(() => rightOf('read'), { timeout: SEEN_MS_MAX }).toBe('read allowed')
    expect(await rightOf('delete')).toBe('delete denied')
    await page.getByLabel(/^Claims/).fill(await tokenOf({ sub: 'bob' }))
    await sees(page, 'valid until')
    await page.getByRole('button', { name: 'What may they do?' }).click()
    await expect.poll(() => rightOf('read'), { timeout: SEEN_MS_MAX }).toBe('read denied')
    const otherRules = page.getByLabel(/^Rules to try/)
    // The field has its text before it can be seen: text that came later would mix with what its reader types.
    expect(await otherRules.inputValue()).toContain('object.owner == claim.sub')
    await page.getByText('By other rules').click()
    await otherRules.fill('bucket shop/orders\n  raed')
    await page.getByRole('button', { name: 'What may they do?' }).click()
    await sees(page, /Line 2, column 3/)
    expect(await violationsOf(page)).toEqual([])
    await context.close()
  })
})

function valueIn(page: Page): Promise<string> {
  return page.getByLabel('Value, as JSON').inputValue()
}

test('a server can run without the console', async () => {
  const server = await startConsoleServer({ flags: ['--no-console'] })
  expect((await fetch(`${server.url}/console`)).status).toBe(404)
  await server.stop()
})
