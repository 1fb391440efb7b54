/** The search of the documentation: by word forms and synonyms, the best place first, usable by keyboard alone. */
import { excerptOf } from '@freshet/site/dist/search/excerpt.js'
import { findSections } from '@freshet/site/dist/search/find.js'
import { stemOf } from '@freshet/site/dist/search/words.js'
import { readIndex } from '@freshet/site/dist/search-index.js'
import { beforeAll, describe, expect, test } from 'vitest'
import { describeInChromium, useChromium } from './chromium.js'
import { violationsOf } from './console-scene.js'
import { openDocs, useDocsSite } from './docs-scene.js'

const docs = useDocsSite()
let index: ReturnType<typeof readIndex>

beforeAll(() => {
  index = readIndex(docs.read('assets/search-index.json'))
})

const find = (typed: string) => findSections(index, typed)
const titles = (typed: string) => find(typed).map(({ title }) => title)

describe('what is found', () => {
  test.each([
    ['invalidate', 'invalidation', 'invalidated', 'invalidating'],
    ['purge', 'purges', 'purged', 'purging'],
    ['serialisable', 'serializable', 'serialise', 'serialised'],
    ['query', 'queries', 'queried'],
  ])('the forms of %s have one stem', (...forms) => {
    expect(new Set(forms.map(stemOf)).size).toBe(1)
  })

  test.each([
    ['offline', /outbox|lost connection|disconnect|offline/i],
    ['invalidate', /purg|invalidat/i],
    ['invalidation', /purg|invalidat/i],
    ['invalidated', /purg|invalidat/i],
    ['purging', /purg/i],
    ['stale', /stale/i],
    ['staleness', /stale/i],
  ])('"%s" finds sections about it, each with the words that were found', (typed, about) => {
    const found = find(typed)
    expect(found.length).toBeGreaterThan(3)
    for (const { title, heading, text, terms } of found.slice(0, 5)) {
      const hits = excerptOf(`${title} ${heading} ${text}`, terms).filter(({ isHit }) => isHit)
      expect(`${title}: ${heading} ${text}`).toMatch(about)
      expect(hits.length).toBeGreaterThan(0)
    }
  })

  test('what the pages call by another name is found under that name', () => {
    const places = find('offline').map(({ title, heading }) => `${title}: ${heading}`)
    expect(places.slice(0, 5)).toContain('Counters and retries: An outbox that survives a reload')
    expect(find('ttl').some(({ text }) => !/ttl/i.test(text) && /lifetime/.test(text))).toBe(true)
  })

  test('every part of a word finds it while it is being typed', () => {
    for (let length = 3; length <= 'invalidation'.length; length++) {
      expect(find('invalidation'.slice(0, length)).length, 'invalidation'.slice(0, length)).toBeGreaterThan(0)
    }
  })

  test('titles and headings come before text, and no page fills the list', () => {
    expect(titles('queries')[0]).toBe('Queries')
    expect(titles('varnish')[0]).toBe('Varnish')
    expect(titles('backup')[0]).toBe('Backups')
    expect(find('QUOTA_EXCEEDED')[0]).toMatchObject({ title: 'Error codes', heading: 'QUOTA_EXCEEDED' })
    expect(titles('queries').filter(title => title === 'Queries').length).toBeLessThanOrEqual(4)
  })

  test('all words must be in a section, if there is a section with all of them', () => {
    for (const { title, heading, text } of find('redis replicas')) {
      expect(`${title} ${heading} ${text}`).toMatch(/redis/i)
      expect(`${title} ${heading} ${text}`).toMatch(/replica|ring/i)
    }
    expect(titles('varnish zzzzzz')).toContain('Varnish')
  })

  test('a misspelt word is forgiven, and nonsense finds nothing', () => {
    expect(titles('varnihs')).toContain('Varnish')
    expect(find('xyzzyplugh')).toEqual([])
    expect(find('...')).toEqual([])
  })
})

describe('an excerpt', () => {
  test('is the part of the text with the words, and marks them', () => {
    const text = `${'Nothing here. '.repeat(40)}A purge can be overtaken by an answer. ${'Nothing there. '.repeat(40)}`
    const pieces = excerptOf(text, ['purg'])
    expect(pieces.map(piece => piece.text).join('')).toMatch(/^… .*A purge can be overtaken by an answer.* …$/)
    expect(pieces.filter(({ isHit }) => isHit)).toEqual([{ text: 'purge', isHit: true }])
  })

  test('is the beginning of a text that has none of the words, and all of a short one', () => {
    expect(excerptOf('A short text.', ['purg'])).toEqual([{ text: 'A short text.', isHit: false }])
    expect(excerptOf('', ['purg'])).toEqual([])
  })
})

describeInChromium('the search box', () => {
  const chromium = useChromium()

  test('is used by keyboard alone: / to search, arrows to choose, Enter to open, Escape to leave', async () => {
    const page = await openDocs(chromium.browser, `${docs.url}/decisions/0004-embedded-engine.html`, { width: 1280 })
    await page.keyboard.press('/')
    await page.keyboard.type('stale')
    const links = page.locator('#found a')
    await expect.poll(() => links.count()).toBeGreaterThan(5)
    expect(await page.locator('#found mark').first().innerText()).toMatch(/stale/i)
    expect(await page.getByRole('status').first().innerText()).toMatch(/results/)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    expect(await links.nth(1).evaluate(link => link === document.activeElement)).toBe(true)
    await page.keyboard.press('Escape')
    expect(await page.locator('#found').isVisible()).toBe(false)
    expect(await page.evaluate(() => document.activeElement!.id)).toBe('search')
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.type('QUOTA_EXCEEDED')
    await page.getByRole('link', { name: 'Error codes: QUOTA_EXCEEDED' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/errors\.html#quota_exceeded$/)
    await page.context().close()
  })

  test('says that nothing matches', async () => {
    const page = await openDocs(chromium.browser, `${docs.url}/index.html`, { width: 1280 })
    await page.locator('#search').fill('xyzzyplugh')
    await expect.poll(() => page.getByRole('status').first().innerText()).toContain('Nothing matches “xyzzyplugh”.')
    expect(await page.locator('#found').innerText()).toContain('Nothing matches “xyzzyplugh”.')
    await page.context().close()
  })

  test('says so if the index cannot be loaded, and tries again', async () => {
    const page = await openDocs(chromium.browser, `${docs.url}/index.html`, { width: 1280 })
    await page.route('**/search-index.json', route => route.fulfill({ status: 503 }))
    await page.locator('#search').fill('stale')
    await expect.poll(() => page.locator('#found').innerText()).toContain('The server answered 503.')
    await page.unroute('**/search-index.json')
    await page.locator('#search').fill('stale d')
    await expect.poll(() => page.locator('#found a').count()).toBeGreaterThan(0)
    await page.context().close()
  })

  test('a method of the client is found by its name, and its types are links', async () => {
    const page = await openDocs(chromium.browser, `${docs.url}/index.html`, { width: 1280 })
    await page.keyboard.press('/')
    await page.keyboard.type('getMany')
    await page.getByRole('link', { name: 'Client API: Bucket' }).first().click()
    await page.waitForURL(/reference\/client\.html#bucket$/)
    await page.locator('#bucket ~ dl').first().getByRole('link', { name: 'ReadOptions' }).first().click()
    await page.waitForURL(/#readoptions$/)
    await page.context().close()
  })

  test.each([1280, 360])(
    'axe finds nothing wrong with results, %i pixels wide, in both colour schemes',
    async width => {
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await openDocs(chromium.browser, `${docs.url}/concepts/reads.html`, { width, colorScheme })
        await page.locator('#search').fill('offline')
        await expect.poll(() => page.locator('#found a').count()).toBeGreaterThan(0)
        expect(await violationsOf(page)).toEqual([])
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
        await page.context().close()
      }
    },
  )
})
