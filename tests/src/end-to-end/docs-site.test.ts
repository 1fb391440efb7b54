/** The documentation site: built from docs/ and the code, its links checked, searched and read in a real browser, wide and on a phone. */
import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { readCaches } from '@freshet/server/configuration'
import { buildSite } from '@freshet/site/dist/build-site.js'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeInChromium, useChromium } from './chromium.js'
import { violationsOf } from './console-scene.js'
import { repository } from './doc-blocks.js'

let folder: string
let site: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-site-'))
  site = join(folder, 'site')
  await buildSite(repository, site)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const read = (path: string) => readFileSync(join(site, path), 'utf8')

test('contains what the code defines: options, commands, routes, metrics, figures', () => {
  expect(read('reference/options.html')).toContain('FRESHET_LIFETIME_MS')
  expect(read('reference/commands.html')).toContain('freshet bench')
  expect(read('reference/routes.html')).toContain('/db/{namespace}/{bucket}/{id}')
  expect(read('reference/metrics.html')).toContain('freshet_quota_used')
  expect(read('figures.html')).toContain('npm run bench')
})

test('has each diagram as it was made from its source', () => {
  const folder = join(repository, 'docs/diagrams')
  const sources = readdirSync(folder).filter(name => name.endsWith('.d2'))
  expect(sources).toContain('read.d2')
  for (const name of sources) {
    const hash = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
    expect(readFileSync(join(folder, name.replace('.d2', '.svg')), 'utf8'), 'npm run diagrams').toContain(hash)
  }
})

test('has a guide for each kind of cache and each engine that can be configured', () => {
  const guides = Object.fromEntries(
    readdirSync(join(repository, 'docs/guides')).map(name => [
      name,
      readFileSync(join(repository, 'docs/guides', name), 'utf8'),
    ]),
  )
  const [, kinds = ''] = /one of (.*)\./.exec(readCaches([{ name: 'a', kind: 'none' }]).mistakes[0]!) ?? []
  expect(kinds.split(', ')).toContain('varnish')
  const all = Object.values(guides).join()
  for (const kind of kinds.split(', ')) expect(all).toContain(`"kind": "${kind}"`)
  for (const scheme of ['postgres', 'mariadb', 'redis', 'cassandra']) {
    expect(guides[`${scheme}.md`]).toContain(`freshet serve --store ${scheme}://`)
  }
  expect(Object.keys(guides)).toEqual(expect.arrayContaining(['embedded.md', 'haproxy.md', 'browsers.md']))
  expect(read('guides/ring-store.html')).toContain('freshet serve --store ring:')
})

test('is not built with a broken link, nor without a page of docs/', async () => {
  const copy = join(folder, 'copy/')
  for (const name of ['docs', 'deploy', 'README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'LICENSE', 'package.json']) {
    cpSync(join(repository, name), join(copy, name), { recursive: true, force: true })
  }
  for (const name of ['bloom', 'cli', 'client', 'core', 'protocol', 'server', 'engines']) {
    cpSync(join(repository, 'packages', name, 'README.md'), join(copy, 'packages', name, 'README.md'))
  }
  const page = join(copy, 'docs/guides/queries.md')
  const text = readFileSync(page, 'utf8')
  const build = () => buildSite(copy, join(folder, 'broken'))
  writeFileSync(page, `${text}\n[there](../errors.md#no_such_code)\n`)
  await expect(build()).rejects.toThrow('guides/queries: ../errors.html#no_such_code')
  writeFileSync(page, `${text}\n[there](nowhere.md)\n`)
  await expect(build()).rejects.toThrow('guides/queries: ../files/docs/guides/nowhere.md')
  writeFileSync(page, text)
  writeFileSync(join(copy, 'docs/new.md'), '# New\n')
  await expect(build()).rejects.toThrow('Not on the site: docs/new.md')
})

describeInChromium('the site', () => {
  const chromium = useChromium()
  let server: Server
  let url: string

  beforeAll(async () => {
    const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }
    server = createServer((request, response) => {
      try {
        const path = new URL(request.url!, 'http://site').pathname
        const body = readFileSync(join(site, path))
        response.writeHead(200, { 'content-type': types[extname(path)] ?? 'application/octet-stream' }).end(body)
      } catch {
        response.writeHead(404).end()
      }
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    server?.close()
  })

  async function open(path: string, width: number): Promise<Page> {
    const page = await chromium.browser.newPage({ viewport: { width, height: 800 } })
    page.on('pageerror', error => expect.unreachable(error.message))
    await page.goto(url + path)
    return page
  }

  test('searches while the reader types, from any page, and links to the place', async () => {
    const page = await open('/decisions/0004-embedded-engine.html', 1300)
    await page.keyboard.press('/')
    await page.keyboard.type('QUOTA_EXCEEDED')
    await page.getByRole('link', { name: 'Error codes: QUOTA_EXCEEDED' }).click()
    await page.waitForURL(/errors\.html#quota_exceeded$/)
    await page.keyboard.press('/')
    await page.keyboard.type('purge rac')
    await expect.poll(() => page.locator('#found').innerText()).toContain('Tutorial')
    await page.keyboard.press('Escape')
    expect(await page.locator('#found').isHidden()).toBe(true)
  })

  test('a method of the client is found by its name, and its types are links', async () => {
    const page = await open('/index.html', 1300)
    await page.keyboard.press('/')
    await page.keyboard.type('getMany')
    await page.getByRole('link', { name: 'Client API: Bucket' }).first().click()
    await page.waitForURL(/reference\/client\.html#bucket$/)
    await page.locator('#bucket ~ dl').first().getByRole('link', { name: 'ReadOptions' }).first().click()
    await page.waitForURL(/#readoptions$/)
  })

  test.each([
    '/index.html',
    '/errors.html',
    '/reference/options.html',
    '/reference/client.html',
    '/reference/routes.html',
    '/guides/comparison.html',
  ])('%s fits on a phone, where the pages are behind a button', async path => {
    const page = await open(path, 360)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    expect(await page.locator('#pages').isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Pages' }).click()
    await page.getByRole('link', { name: 'A purge race' }).first().click()
    await page.waitForURL(/tutorials\/purge-race\.html$/)
    expect(await page.locator('h1').innerText()).toContain('Tutorial')
  })

  test.each(['/index.html', '/guides/other-caches.html', '/reference/client.html', '/reference/routes.html'])(
    'axe finds nothing wrong with %s, in both colour schemes',
    async path => {
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await open(path, 1280)
        await page.emulateMedia({ colorScheme })
        expect(await violationsOf(page)).toEqual([])
      }
    },
    60_000,
  )
})
