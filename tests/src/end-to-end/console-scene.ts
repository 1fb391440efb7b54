/**
 * A server with data of every kind that the console shows, and a browser that records errors.
 *
 * If FRESHET_SCREENSHOTS names a folder, pictures of the console are saved there.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { type FreshetProcess, startFreshet } from './freshet-process.js'

/** Long enough for a busy machine. */
export const SEEN_MS_MAX = 30_000

export const SCREENSHOTS: string | undefined = process.env.FRESHET_SCREENSHOTS
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const WIDTHS = { phone: 360, desk: 1280 } as const

export const HOSTILE = '<script>globalThis.wasRun = true</script><img src=x onerror="globalThis.wasRun = true">'

export const HOSTILE_ID = '<img src=x onerror=alert(1)>'

export interface ConsoleServer {
  readonly process: FreshetProcess
  readonly url: string
  put(path: string, value: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>
  stop(): Promise<void>
}

export interface ConsoleServerOptions {
  readonly rules?: string
  readonly secret?: string
  readonly caches?: readonly unknown[]
  readonly flags?: readonly string[]
  /** Additional members of a config file. */
  readonly config?: object
  /** Called with that file before the server starts. */
  readonly prepare?: (file: string) => Promise<void>
}

export async function startConsoleServer(options: ConsoleServerOptions = {}): Promise<ConsoleServer> {
  const { rules, secret, caches = [], flags = [], config: more = {}, prepare } = options
  const folder = mkdtempSync(join(tmpdir(), 'freshet-console-'))
  const config = join(folder, 'freshet.json')
  writeFileSync(config, JSON.stringify({ caches, ...more }))
  await prepare?.(config)
  const access = rules === undefined ? [] : ['--rules', join(folder, 'rules.access')]
  if (rules !== undefined) writeFileSync(join(folder, 'rules.access'), rules)
  const process = await startFreshet(['dev', '--data', join(folder, 'data'), '--config', config, ...access, ...flags], {
    environment: secret === undefined ? {} : { FRESHET_TOKEN_SECRET: secret },
  })
  const url = `http://localhost:${process.port}`
  return {
    process,
    url,
    put: (path, value, headers = {}) =>
      fetch(url + path, {
        method: 'PUT',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(value),
      }),
    stop: async () => {
      await process.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Objects of every kind, an index, a schema and the task that checks it, counters, and a write that came too late. */
export async function fill({ put, url }: ConsoleServer): Promise<void> {
  await put('/db/shop/books', { kind: 'object', indexes: [{ name: 'by-year', fields: ['year'] }] })
  for (const year of [1949, 1965, 1984, 1999, 2011]) await put(`/db/shop/books/b${year}`, { title: `Of ${year}`, year })
  await put('/db/shop/notes/hostile', { text: HOSTILE })
  await put(`/db/shop/notes/${encodeURIComponent(HOSTILE_ID)}`, { text: 'its id is hostile' })
  await put('/db/shop/pictures', { kind: 'kv' })
  await put('/db/shop/views', { kind: 'counter' })
  for (const [id, add] of [
    ['tea', 12],
    ['mug', 5],
  ] as const) {
    await fetch(`${url}/db/shop/views/${id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ add }),
    })
  }
  const schema = {
    type: 'object',
    required: ['title'],
    properties: { title: { type: 'string' }, pages: { type: 'integer' } },
  }
  const migration = { name: 'pages', steps: [{ default: '/pages', value: 0 }] }
  await put('/db/shop/books', { kind: 'object', indexes: [{ name: 'by-year', fields: ['year'] }], schema, migration })
  for (let i = 0; i < 3; i++) await put('/db/shop/products/tea', { name: 'Green tea', price: 6 + i })
  await put('/db/shop/products/tea', { name: 'Too late' }, { 'if-match': '"1"' })
}

export interface Watched {
  readonly context: BrowserContext
  /** The errors that the browser reported. */
  readonly complaints: string[]
  readonly hosts: Set<string>
  open(path?: string): Promise<Page>
  /** Ignores matching errors: the browser reports every refusal, including those that a test provokes. */
  forgive(pattern: RegExp): void
  close(): Promise<void>
}

export interface WatchOptions {
  readonly colorScheme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
}

export async function watch(browser: Browser, url: string, options: WatchOptions = {}): Promise<Watched> {
  const { colorScheme = 'light', width = 1280, height = 860 } = options
  const context = await browser.newContext({ colorScheme, viewport: { width, height } })
  const complaints: string[] = []
  const hosts = new Set<string>()
  return {
    ...{ context, complaints, hosts },
    open: async (path = '') => {
      const page = await context.newPage()
      page.on('pageerror', error => complaints.push(String(error)))
      page.on('console', message => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()))
      page.on('request', sent => hosts.add(new URL(sent.url()).host))
      await page.goto(`${url}/console${path}`)
      await page.waitForSelector('h1', { timeout: SEEN_MS_MAX })
      return page
    },
    forgive: pattern => {
      complaints.splice(0, complaints.length, ...complaints.filter(text => !pattern.test(text)))
    },
    close: () => context.close(),
  }
}

/** Waits until the page has this text. */
export async function sees(page: Page, text: string | RegExp): Promise<void> {
  const found = page.locator('main').getByText(text).first()
  await expect.poll(() => found.isVisible(), { timeout: SEEN_MS_MAX, message: `${text}` }).toBe(true)
}

export async function photograph(page: Page, name: string, fullPage = false): Promise<void> {
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage })
}

/** The violations that axe-core finds, by its rules for WCAG and good practice. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> }
    }
    const { violations } = await axe.run()
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    )
  })
}

/** In both colour schemes, on a phone and on a desktop: axe-core finds nothing, and nothing is wider than the screen. */
export async function expectWellMade(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const [place, width] of Object.entries(WIDTHS)) {
      const shown = `${name}-${colorScheme}-${place}`
      await page.setViewportSize({ width, height: 860 })
      await photograph(page, shown, true)
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth), { message: shown }).toBe(width)
      expect([shown, await violationsOf(page)]).toEqual([shown, []])
    }
  }
}
