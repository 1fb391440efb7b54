/** The documentation site: built from docs/ and the code, its links checked, and read in a real browser, wide and on a phone. */
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readCaches } from '@freshet/server/configuration'
import { buildSite } from '@freshet/site/dist/build-site.js'
import { expect, test } from 'vitest'
import { describeInChromium, useChromium } from './chromium.js'
import { violationsOf } from './console-scene.js'
import { repository } from './doc-blocks.js'
import { openDocs, type Screen, useDocsSite } from './docs-scene.js'

const docs = useDocsSite()

test('contains what the code defines: options, commands, routes, metrics, figures', () => {
  expect(docs.read('reference/options.html')).toContain('FRESHET_LIFETIME_MS')
  expect(docs.read('reference/commands.html')).toContain('freshet bench')
  expect(docs.read('reference/routes.html')).toContain('/db/{namespace}/{bucket}/{id}')
  expect(docs.read('reference/metrics.html')).toContain('freshet_quota_used')
  expect(docs.read('figures.html')).toContain('npm run bench')
})

test('has each diagram as it was made from its source, with a title', () => {
  const folder = join(repository, 'docs/diagrams')
  const sources = readdirSync(folder).filter(name => name.endsWith('.d2'))
  expect(sources).toContain('read.d2')
  for (const name of sources) {
    const source = readFileSync(join(folder, name), 'utf8')
    const hash = createHash('sha256').update(source).digest('hex')
    const forms = source.includes('direction: right') ? ['.svg', '-narrow.svg'] : ['.svg']
    for (const form of forms) {
      const svg = readFileSync(join(folder, name.replace('.d2', form)), 'utf8')
      expect(svg, 'npm run diagrams').toContain(hash)
      expect(svg).toMatch(/^<svg role="img" [^>]*><title>[^<]+<\/title>/)
      expect(svg).toContain('@media screen and (prefers-color-scheme:dark)')
    }
  }
})

test('has a text for each picture', () => {
  const pages = readdirSync(join(docs.folder, 'site'), { recursive: true, encoding: 'utf8' })
  const pictures = pages
    .filter(name => name.endsWith('.html') && !name.startsWith('files'))
    .flatMap(name => [...docs.read(name).matchAll(/<img [^>]*loading="lazy">/g)])
    .map(([image]) => image)
  expect(pictures.length).toBeGreaterThan(10)
  for (const picture of pictures) expect(picture).toMatch(/alt="[^"]{10,}" width="\d+" height="\d+"/)
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
  expect(docs.read('guides/ring-store.html')).toContain('freshet serve --store ring:')
})

test('is not built with a broken link, nor without a page of docs/, nor from a README.md without its beginning', async () => {
  const copy = join(docs.folder, 'copy/')
  for (const name of ['docs', 'deploy', 'README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'LICENSE', 'package.json']) {
    cpSync(join(repository, name), join(copy, name), { recursive: true, force: true })
  }
  for (const name of ['bloom', 'cli', 'client', 'core', 'protocol', 'server', 'engines']) {
    cpSync(join(repository, 'packages', name, 'README.md'), join(copy, 'packages', name, 'README.md'))
  }
  const page = join(copy, 'docs/guides/queries.md')
  const text = readFileSync(page, 'utf8')
  const build = () => buildSite(copy, join(docs.folder, 'broken'))
  writeFileSync(page, `${text}\n[there](../errors.md#no_such_code)\n`)
  await expect(build()).rejects.toThrow('guides/queries: ../errors.html#no_such_code')
  writeFileSync(page, `${text}\n[there](nowhere.md)\n`)
  await expect(build()).rejects.toThrow('guides/queries: ../files/docs/guides/nowhere.md')
  writeFileSync(page, text)
  const readme = readFileSync(join(copy, 'README.md'), 'utf8')
  writeFileSync(join(copy, 'README.md'), readme.replace('## Try it', '## Run'))
  await expect(build()).rejects.toThrow('made from README.md')
  writeFileSync(join(copy, 'README.md'), readme)
  writeFileSync(join(copy, 'docs/new.md'), '# New\n')
  await expect(build()).rejects.toThrow('Not on the site: docs/new.md')
})

test('is not built over files of another kind', async () => {
  const folder = join(docs.folder, 'precious')
  mkdirSync(folder)
  writeFileSync(join(folder, 'letter.txt'), 'Dear reader')
  await expect(buildSite(repository, folder)).rejects.toThrow('contains files that are not part of this site')
  expect(readFileSync(join(folder, 'letter.txt'), 'utf8')).toBe('Dear reader')
})

describeInChromium('the site', () => {
  const chromium = useChromium()
  const open = (path: string, screen: Screen) => openDocs(chromium.browser, docs.url + path, screen)

  test('the home page says what it is in a line and three sentences, then shows a diagram, code, commands and all pages', async () => {
    const page = await open('/index.html', { width: 1280 })
    const [line, sentences] = await page.locator('.hero p').allInnerTexts()
    expect(line).toBe('Freshet serves your data from any web cache, and clients never read stale data.')
    expect(sentences!.match(/\.(?= |$)/g)).toHaveLength(3)
    expect(await page.locator('main figure img').first().getAttribute('src')).toBe('files/docs/diagrams/overview.svg')
    expect(await page.locator('main pre').allInnerTexts()).toEqual([
      expect.stringContaining("import { connect } from '@freshet/client'"),
      expect.stringContaining('npm ci && npm start'),
    ])
    const links = await page.locator('.cards a[href$=".html"]').count()
    expect(links).toBe(await page.locator('nav a').count())
    expect(await page.locator('.card h3').allInnerTexts()).toEqual(
      ['Tutorials', 'Guides', 'Concepts', 'Reference', 'Decisions'].map(name => expect.stringContaining(name)),
    )
    await page.context().close()
  })

  test('the list of pages opens at the page that is shown, and marks it', async () => {
    const page = await open('/guides/backups.html', { width: 1280 })
    const open_ = await page.locator('nav details details[open] > summary').allInnerTexts()
    expect(open_).toEqual(['Guides'])
    const current = page.locator('nav [aria-current=page]')
    expect(await current.innerText()).toBe('Backups')
    const box = (await current.boundingBox())!
    expect(box.y + box.height).toBeLessThan(800)
    expect(await page.evaluate(() => scrollY)).toBe(0)
    await page.context().close()
  })

  test.each([
    '/index.html',
    '/errors.html',
    '/reference/options.html',
    '/reference/client.html',
    '/reference/routes.html',
    '/guides/comparison.html',
    '/concepts/reads.html',
  ])('%s fits on a phone, where the pages are behind a button', async path => {
    const page = await open(path, { width: 360 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    const menu = page.locator('.menu > summary')
    const link = page.getByRole('navigation').getByRole('link', { name: 'A purge race' })
    expect(await link.isVisible()).toBe(false)
    await menu.focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.getByRole('navigation').getByText('Tutorials').isVisible()).toBe(true)
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('navigation').getByText('Tutorials').isVisible()).toBe(false)
    expect(await page.evaluate(() => document.activeElement!.textContent)).toBe('Pages')
    await menu.click()
    if (!(await link.isVisible())) await page.getByRole('navigation').getByText('Tutorials').click()
    await link.click()
    await page.waitForURL(/tutorials\/purge-race\.html$/)
    expect(await page.locator('h1').innerText()).toContain('Tutorial')
    await page.context().close()
  })

  test('on a phone, long lines of code and wide tables and diagrams scroll by keyboard, and the page does not', async () => {
    const page = await open('/guides/comparison.html', { width: 360 })
    const moved = async (selector: string) => {
      const area = page.locator(selector)
      await area.focus()
      await page.keyboard.press('ArrowRight')
      await expect.poll(() => area.evaluate(element => element.scrollLeft), { message: selector }).toBeGreaterThan(0)
    }
    await moved('.table[tabindex] >> nth=0')
    await page.goto(`${docs.url}/tutorials/first-steps.html`)
    await moved('.code pre[tabindex] >> nth=0')
    await page.goto(`${docs.url}/concepts/reads.html`)
    const figure = page.locator('figure').first()
    const [shown, whole] = await figure.evaluate(({ clientWidth, scrollWidth }) => [clientWidth, scrollWidth])
    expect(whole).toBeGreaterThan(shown! * 1.3)
    const fades = () => figure.evaluate(({ className }) => className.includes('continues'))
    await expect.poll(fades).toBe(true)
    await figure.evaluate(element => element.scrollTo({ left: element.scrollWidth }))
    await expect.poll(fades).toBe(false)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    await page.context().close()
  })

  test('an area that fits its contents is not a stop of the Tab key', async () => {
    const page = await open('/index.html', { width: 1280 })
    await expect.poll(() => page.locator('.code pre[tabindex]').count()).toBe(0)
    await page.context().close()
  })

  test('code is coloured without a script, and every colour can be read on its background', async () => {
    expect(docs.read('index.html')).toContain('<span class="hljs-keyword">import</span>')
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await open('/tutorials/first-steps.html', { width: 1280, colorScheme })
      const colours = await page.evaluate(() => {
        const names = ['keyword', 'string', 'number', 'comment', 'title', 'attr', 'type', 'variable', 'meta', 'literal']
        const code = document.querySelector('pre code')!
        const shown = names.map(name => {
          const word = document.createElement('span')
          word.className = `hljs-${name}`
          code.append(word)
          return { name, colour: getComputedStyle(word).color }
        })
        return { ground: getComputedStyle(code.parentElement!).backgroundColor, shown }
      })
      expect(new Set(colours.shown.map(({ colour }) => colour)).size).toBeGreaterThan(5)
      for (const { name, colour } of colours.shown) {
        expect(contrast(colour, colours.ground), `${name}, ${colorScheme}`).toBeGreaterThanOrEqual(4.5)
      }
      await page.context().close()
    }
  })

  test('a button copies code, by keyboard as well; of commands it copies no comments', async () => {
    const page = await open('/index.html', { width: 1280 })
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const buttons = page.getByRole('button', { name: 'Copy this code' })
    await buttons.first().click()
    const clipboard = () => page.evaluate(() => navigator.clipboard.readText())
    expect(await clipboard()).toBe(await page.locator('pre code').first().textContent())
    await expect.poll(() => page.getByRole('status').allInnerTexts()).toContain('Copied')
    await buttons.last().focus()
    await page.keyboard.press('Enter')
    await expect.poll(clipboard).toContain('npm ci && npm start\n')
    expect(await clipboard()).not.toContain('#')
    await page.context().close()
  })

  test.each([
    '/index.html',
    '/tutorials/first-steps.html',
    '/concepts/reads.html',
    '/guides/other-caches.html',
    '/reference/client.html',
    '/reference/routes.html',
  ])(
    'axe finds nothing wrong with %s, light and wide, dark and on a phone',
    async path => {
      // Colours do not depend on the width, nor widths on the colours.
      const screens = [
        { width: 1280, colorScheme: 'light' },
        { width: 360, colorScheme: 'dark' },
      ] as const
      for (const screen of screens) {
        const page = await open(path, screen)
        expect([screen, await violationsOf(page)]).toEqual([screen, []])
        await page.context().close()
      }
    },
    120_000,
  )
})

/** By WCAG 2.2; colours as `getComputedStyle` returns them. */
function contrast(one: string, other: string): number {
  const [lighter, darker] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number]
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(colour: string): number {
  const channels = colour
    .match(/\d+/g)!
    .slice(0, 3)
    .map(text => Number(text) / 255)
  const [red, green, blue] = channels.map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)) as [
    number,
    number,
    number,
  ]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
