/** `freshet init`: npm installs the new app, it runs, has correct types, builds, and works in a real browser. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { TOOLS } from '@freshet/cli/dist/init/run-init.js'
import { freePort } from '@freshet/engines/under-test/free-port'
import type { Browser, Page } from 'playwright-core'
import { type PreviewServer, preview } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type InstalledServer, startInstalled } from '../release/installed-server.js'
import { packInto } from '../release/packed-packages.js'
import { describeInChromium, startChromium } from './chromium.js'
import { endFreshetProcesses, runFreshet } from './freshet-process.js'
import { heartbeats } from './heartbeats.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))

let folder: string
let app: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-init-'))
  app = join(folder, 'My App')
})
afterAll(async () => {
  await endFreshetProcesses()
  rmSync(folder, { recursive: true, force: true })
})

test('versions from the registry are pinned to those that this repository is tested with', async () => {
  const { exitCode } = await runFreshet(['init', join(folder, 'plain'), '--registry', '--json'])
  expect(exitCode).toBe(0)
  const made = JSON.parse(readFileSync(join(folder, 'plain/package.json'), 'utf8')) as Record<string, never>
  const { version } = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8')) as { version: string }
  expect(made.dependencies).toEqual({ '@freshet/client': version })
  expect(made.devDependencies).toEqual({ '@freshet/cli': version, ...TOOLS })
  for (const [name, pinned] of Object.entries(TOOLS)) {
    const installed = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as {
      version: string
    }
    expect([name, installed.version]).toEqual([name, pinned])
  }
  const again = await runFreshet(['init', join(folder, 'plain')])
  expect([again.exitCode, again.errors]).toEqual([2, expect.stringContaining('Choose another name')])
})

describeInChromium('the app that freshet init creates from a clone', () => {
  let browser: Browser
  let site: PreviewServer
  const started: InstalledServer[] = []

  const npm = (args: readonly string[], environment: NodeJS.ProcessEnv = {}) =>
    run('npm', args, { cwd: app, env: { ...process.env, ...environment } })

  beforeAll(async () => {
    const environment = { HOME: process.env.HOME ?? '/root' }
    const { exitCode, output } = await runFreshet(['init', app], { environment, killAfterMs: 120_000 })
    expect([exitCode, output]).toEqual([0, expect.stringContaining('npm install')])
    await npm(['install', '--prefer-offline', '--no-audit', '--no-fund', '--silent'])
    browser = await startChromium()
  }, 600_000)

  afterAll(async () => {
    await browser?.close()
    await site?.close()
    await Promise.all(started.map(each => each.stop()))
  })

  test('npm create @freshet makes the same app, from packed packages and in an empty folder', async () => {
    const [tarball] = await packInto(folder, root, ['packages/create'])
    // The app has the packed @freshet/cli already, so npm asks no registry.
    await npm(['install', '--no-save', '--prefer-offline', '--no-audit', '--no-fund', '--silent', tarball!])
    const [empty, byInit] = [join(folder, 'empty'), join(folder, 'by-init/app')]
    mkdirSync(empty)
    expect((await runFreshet(['init', byInit, '--registry'])).exitCode).toBe(0)
    const created = join(app, 'node_modules/.bin/create-freshet')
    const { stdout } = await run(created, ['app', '--json'], { cwd: empty })
    expect(JSON.parse(stdout)).toMatchObject({ folder: join(realpathSync(empty), 'app') })
    expect(filesIn(join(empty, 'app'))).toEqual(filesIn(byInit))
  }, 120_000)

  /** `npm run dev`, with the port that its data server should take, and nothing else. */
  async function startDev(cwd: string, port: number): Promise<InstalledServer & { readonly pageUrl: string }> {
    const pagePort = await freePort(['127.0.0.1', '::1'])
    const args = ['npm', 'run', 'dev', '--', '--port', `${pagePort}`, '--strictPort']
    const server = await startInstalled(cwd, args, { ...process.env, FRESHET_PORT: `${port}` })
    started.push(server)
    const pageUrl = `http://localhost:${pagePort}`
    await expect.poll(() => isAnswered(pageUrl), { timeout: 60_000, message: server.output() }).toBe(true)
    return { ...server, pageUrl }
  }

  const isAnswered = (url: string) =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    )

  const problems: string[] = []

  async function open(address: string): Promise<Page> {
    const page = await (await browser.newContext()).newPage()
    page.on('pageerror', error => problems.push(error.message))
    await page.goto(address)
    await page.getByText('notes. Open this page twice').waitFor()
    return page
  }

  async function add(page: Page, text: string): Promise<void> {
    await page.getByLabel('New note').fill(text)
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByLabel(text).waitFor()
  }

  async function notesAt(serverUrl: string): Promise<readonly object[]> {
    const { items } = (await (await fetch(`${serverUrl}/db/app/notes?embed`)).json()) as { items: { value: object }[] }
    return items.map(({ value }) => value)
  }

  test('runs with npm run dev, is built with npm run build, and each page shows what the other writes', async () => {
    const dev = await startDev(app, await freePort())
    await npm(['run', 'build'], { VITE_FRESHET_URL: dev.url })
    site = await preview({ root: app, preview: { port: 0, host: '127.0.0.1' }, logLevel: 'silent' })
    const [one, two] = [await open(dev.pageUrl), await open(site.resolvedUrls!.local[0]!)]
    await add(one, 'buy tea')
    await two.getByLabel('buy tea').check()
    await expect.poll(() => one.getByLabel('buy tea').isChecked()).toBe(true)
    expect(problems).toEqual([])
    expect(await notesAt(dev.url)).toMatchObject([{ text: 'buy tea', isDone: true }])

    const sent: string[] = []
    one.on('request', request => sent.push(request.url()))
    await heartbeats(dev.url, 4)
    expect(sent, 'a page on which nothing happens sends no request').toEqual([])

    await dev.stop()
    await expect.poll(() => isAnswered(`${dev.url}/ready`)).toBe(false)
    expect(dev.output()).not.toMatch(/error/i)
  }, 240_000)

  test('runs beside another app: each has a port and data of its own, and its page finds its server', async () => {
    const other = join(folder, 'other')
    copyApp(app, other)
    const port = await freePort()
    const one = await startDev(app, port)
    const two = await startDev(other, port)
    expect(one.url).toBe(`http://localhost:${port}`)
    expect(two.url).not.toBe(one.url)
    expect(two.output()).toContain(`Another program uses port ${port}`)
    const before = await notesAt(one.url)
    await add(await open(one.pageUrl), 'for the first')
    await add(await open(two.pageUrl), 'for the second')
    expect(await notesAt(one.url)).toMatchObject([...before, { text: 'for the first' }])
    expect(await notesAt(two.url)).toMatchObject([{ text: 'for the second' }])
    expect(problems).toEqual([])
  }, 240_000)
})

/** A new app with the same files and packages, without the data. */
function copyApp(from: string, to: string): void {
  const filter = (path: string) => !/^(?:node_modules|\.freshet|dist)$/.test(relative(from, path))
  cpSync(from, to, { recursive: true, filter })
  // Vite keeps files of its own in node_modules, so the two apps share only the packages.
  mkdirSync(join(to, 'node_modules'))
  for (const name of readdirSync(join(from, 'node_modules')).filter(each => each !== '.vite'))
    symlinkSync(join(from, 'node_modules', name), join(to, 'node_modules', name))
}

/** Their texts by path. */
function filesIn(path: string): Readonly<Record<string, string>> {
  const entries = readdirSync(path, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name)).sort()
  return Object.fromEntries(paths.map(each => [relative(path, each), readFileSync(each, 'utf8')]))
}
