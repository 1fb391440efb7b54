/** `npm run filters` in a real browser: the page, and what its server answers and refuses. */
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { describeInChromium, expectUsable, startChromium } from './chromium.js'
import { refusalOf, type ServedPage, servePage } from './served-page.js'

let served: ServedPage

beforeAll(async () => {
  served = await servePage()
})

afterAll(() => served?.stop())

describeInChromium('the filter page', () => {
  const SEED = 20121101
  let browser: Browser
  let page: Page
  let complaints: string[]
  let hosts: Set<string>

  beforeAll(async () => {
    browser = await startChromium()
  })

  afterAll(() => browser?.close())

  beforeEach(async () => {
    page = await browser.newPage()
    complaints = []
    hosts = new Set()
    page.on('pageerror', error => complaints.push(String(error)))
    page.on('console', message => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()))
    page.on('request', sent => hosts.add(new URL(sent.url()).host))
    await page.goto(`${served.url}/?seed=${SEED}`)
    await untilText('#try-count', '0')
  })

  afterEach(async () => {
    await page.close()
    expect(complaints).toEqual([])
    // The icon is part of the page, a data: URL without a host.
    expect([...hosts].filter(host => host !== '')).toEqual([`localhost:${served.port}`])
  })

  async function textOf(selector: string): Promise<string> {
    return (await page.locator(selector).textContent()) ?? ''
  }

  function untilText(selector: string, start: string): Promise<unknown> {
    return page.waitForFunction(
      ([css, wanted]) => document.querySelector(css!)?.textContent?.startsWith(wanted!),
      [selector, start],
      { timeout: 60_000 },
    )
  }

  test('a filter reaches its target rate with its last key, and denies none', async () => {
    await page.fill('#fill-entries', '5000')
    await page.click('#fill-run')
    await untilText('#fill-status', 'Done')
    const [, measured, margin] = /^([\d.]+)% ± ([\d.]+)% \(target 1%\)$/.exec(await textOf('#fill-measured'))!
    // The margin is two standard errors.
    expect(Math.abs(Number(measured) - 1)).toBeLessThan(2 * Number(margin))
    expect(Number(margin)).toBeLessThan(0.1)
    expect(await textOf('#fill-negatives')).toBe('0 of 5,000 checked')
    expect(await textOf('#fill-status')).toBe('Done: no key was denied.')
    expect(await textOf('#fill-speed')).toMatch(/^[\d,.]+( million)?$/)
    expect(await page.locator('#fill-chart svg path').count()).toBeGreaterThan(40)
  })

  test('filters that forget deny nothing within the window, and a run can be stopped', async () => {
    await page.fill('#forget-load', '50')
    await page.click('#forget-run')
    // In the page, which may be done before anybody else has looked at it and clicked.
    await page.waitForFunction(() => {
      const isFarEnough = document.querySelector<HTMLProgressElement>('#forget-progress')!.value > 0.22
      if (isFarEnough) document.querySelector<HTMLButtonElement>('#forget-run')!.click()
      return isFarEnough
    })
    await untilText('#forget-status', 'Stopped.')
    for (const name of ['rotating', 'forgetful']) {
      expect(await textOf(`#${name}-denied`)).toMatch(/^0 of \d\d,\d{3}$/)
      expect(Number.parseFloat(await textOf(`#${name}-rate`))).toBeGreaterThan(0)
    }
    expect(await page.locator('#forget-load').isEnabled()).toBe(true)
  })

  test('a key that was not added is definitely absent, and an added key is probably present', async () => {
    await page.fill('#try-key', 'κλειδί')
    await page.click('#try-ask')
    expect(await textOf('#try-answer')).toMatch(/^Surely not\. Bit \d+ is not set/)
    await page.press('#try-key', 'Enter')
    expect(await textOf('#try-answer')).toMatch(/^Added\. \d bits newly set/)
    await page.click('#try-ask')
    expect(await textOf('#try-answer')).toMatch(/^Probably yes\. .* Indeed, you added it\.$/)
    expect(await page.locator('#try-grid .bit.set.own').count()).toBeGreaterThan(0)
    expect(await page.locator('#try-grid .bit.own:not(.set)').count()).toBe(0)
    // 192 bits, a header of 32 bytes and a check word.
    expect(await textOf('#try-size')).toBe('60 bytes')
  })

  test('a false positive can be found, and is labelled as one', async () => {
    await page.click('#try-ten')
    await page.click('#try-find')
    expect(await textOf('#try-answer')).toMatch(/^Probably yes\. .* this is a false positive\.$/)
  })

  test.each(['fill', 'forget', 'try'])("a rate of 2 is refused with the library's message (%s)", async panel => {
    await page.fill(`#${panel}-rate`, '2')
    const message = 'falsePositiveRateMax must lie between 0 and 1, such as 0.01 for 1%, not 2.'
    expect(await textOf(`#${panel}-error`)).toBe(message)
    await page.fill(`#${panel}-rate`, '0.1')
    expect(await page.locator(`#${panel}-error`).isHidden()).toBe(true)
  })

  test('a size that this page does not offer is refused, and nothing runs', async () => {
    await page.fill('#fill-entries', '20000000')
    await page.click('#fill-run')
    expect(await textOf('#fill-error')).toContain('from 1,000 to 1,000,000, not 20000000')
    expect(await textOf('#fill-status')).toBe('Ready.')
  })

  test('every control has a name, and the page fits a phone', async () => {
    await expectUsable(page, 'input, button, progress, [role=img]')
  })
})

describe('the server of the page', () => {
  /** Sends the path unchanged; `fetch` would normalise it first. */
  async function ask(path: string, method = 'GET') {
    const sent = request({ host: '127.0.0.1', port: served.port, path, method }).end()
    const [response] = await once(sent, 'response')
    return { status: response.statusCode, headers: response.headers, body: await text(response) }
  }

  test.each([
    ['/', 'text/html; charset=utf-8'],
    ['/?seed=1', 'text/html; charset=utf-8'],
    ['/page.css', 'text/css; charset=utf-8'],
    ['/echarts.js', 'text/javascript; charset=utf-8'],
    ['/bloom/index.js', 'text/javascript; charset=utf-8'],
    ['/bloom/hashing/key-hash.js', 'text/javascript; charset=utf-8'],
    ['/lab/page/browser/filter-page.js', 'text/javascript; charset=utf-8'],
  ])('serves %s with its type, uncacheable', async (path, type) => {
    const { status, headers, body } = await ask(path)
    expect({ status, type: headers['content-type'], cache: headers['cache-control'] }).toEqual({
      status: 200,
      type,
      cache: 'no-store',
    })
    expect(body.length).toBeGreaterThan(0)
  })

  test.each([
    '/nothing',
    '/bloom/',
    '/bloom/index.js/',
    '/bloom/index.d.ts',
    '/bloom/../package.json',
    '/bloom/%2e%2e/package.json',
    '/bloom/..%2fpackage.json',
    '/../../../../../../etc/passwd',
    '//etc/passwd',
    '/lab/page/serve.js',
    '/lab/harness/../page/serve.js',
    '/lab/page/browser/..\\serve.js',
  ])('serves nothing at %s', async path => {
    const { status, body } = await ask(path)
    expect(status).toBe(404)
    expect(body).toBe(`There is nothing at ${path}. The page is at /.\n`)
  })

  test('answers HEAD without a body, and refuses other methods', async () => {
    const head = await ask('/page.css', 'HEAD')
    expect(head).toMatchObject({ status: 200, body: '' })
    expect(Number(head.headers['content-length'])).toBeGreaterThan(0)
    const post = await ask('/', 'POST')
    expect(post).toMatchObject({ status: 405, body: 'This server does not answer POST. Use GET or HEAD.\n' })
    expect(post.headers.allow).toBe('GET, HEAD')
  })

  test('listens on 127.0.0.1 only', async () => {
    const connection = connect({ host: '127.0.0.2', port: served.port })
    await expect(once(connection, 'connect')).rejects.toThrow()
  })

  test('a port in use is refused in one line that says what to do', async () => {
    const { exitCode, message } = await refusalOf(['--port', String(served.port)])
    expect(exitCode).toBe(1)
    const another = `npm run filters -- --port ${served.port + 1}`
    expect(message).toBe(`Port ${served.port} is taken by another program. Choose another port: ${another}\n`)
  })

  test('the port can come from the environment', async () => {
    expect((await refusalOf([], { PORT: String(served.port) })).message).toContain(`Port ${served.port} is taken`)
  })

  test.each([
    [['--prot', '1'], "Unknown option '--prot'"],
    [['7700'], "Unexpected argument '7700'"],
    [['--port', '99999'], '--port takes a port from 0 (any free port) to 65535, not "99999".'],
  ])('a wrong command line (%s) is refused with the usage', async (args, complaint) => {
    const { exitCode, message } = await refusalOf(args)
    expect(exitCode).toBe(2)
    expect(message).toContain(complaint)
    expect(message.trimEnd().split('\n').at(-1)).toBe('Usage: npm run filters -- [--port N]')
  })

  test('Ctrl-C ends it at once, even while a browser keeps its connection', async () => {
    const another = await servePage()
    const connection = connect({ host: '127.0.0.1', port: another.port })
    connection.on('error', () => undefined)
    await once(connection, 'connect')
    expect(await another.stop()).toBe(0)
    connection.destroy()
  })
})
