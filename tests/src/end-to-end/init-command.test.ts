/** `freshet init`: npm installs the new app, it runs, has correct types, builds, and works in a real browser. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { TOOLS } from '@freshet/cli/dist/init/run-init.js'
import { freePort } from '@freshet/engines/under-test/free-port'
import type { Browser } from 'playwright-core'
import { type PreviewServer, preview } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packInto } from '../release/packed-packages.js'
import { describeInChromium, startChromium } from './chromium.js'
import { endFreshetProcesses, runFreshet } from './freshet-process.js'

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
  let dev: ChildProcess
  let site: PreviewServer
  let [serverUrl, devUrl] = ['', '']
  let output = ''

  const npm = (args: readonly string[]) =>
    run('npm', args, { cwd: app, env: { ...process.env, VITE_FRESHET_URL: serverUrl } })

  beforeAll(async () => {
    const environment = { HOME: process.env.HOME ?? '/root' }
    const { exitCode, output } = await runFreshet(['init', app], { environment, killAfterMs: 120_000 })
    expect([exitCode, output]).toEqual([0, expect.stringContaining('npm install')])
    await npm(['install', '--prefer-offline', '--no-audit', '--no-fund', '--silent'])
    serverUrl = `http://localhost:${await freePort()}`
    devUrl = `http://localhost:${await freePort(['127.0.0.1', '::1'])}`
    browser = await startChromium()
  }, 600_000)

  afterAll(async () => {
    await browser?.close()
    await site?.close()
    if (dev?.exitCode === null && dev.signalCode === null) process.kill(-dev.pid!, 'SIGKILL')
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

  function startDev(): void {
    const args = ['run', 'dev', '--', '--port', new URL(devUrl).port, '--strictPort']
    const env = { ...process.env, FRESHET_PORT: new URL(serverUrl).port, VITE_FRESHET_URL: serverUrl }
    // In its own group, as in a shell, so that Ctrl-C reaches all of it.
    dev = spawn('npm', args, { cwd: app, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [dev.stdout!, dev.stderr!]) stream.on('data', chunk => (output += chunk))
  }

  const isAnswered = (url: string) =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    )

  test('runs with npm run dev, is built with npm run build, and each page shows what the other writes', async () => {
    startDev()
    await expect.poll(() => isAnswered(`${serverUrl}/ready`), { timeout: 60_000, message: output }).toBe(true)
    await expect.poll(() => isAnswered(devUrl), { timeout: 60_000, message: output }).toBe(true)
    await npm(['run', 'build'])
    site = await preview({ root: app, preview: { port: 0, host: '127.0.0.1' }, logLevel: 'silent' })
    const problems: string[] = []
    const open = async (address: string) => {
      const page = await (await browser.newContext()).newPage()
      page.on('pageerror', error => problems.push(error.message))
      await page.goto(address)
      await page.getByText('notes. Open this page twice').waitFor()
      return page
    }
    const [one, two] = [await open(devUrl), await open(site.resolvedUrls!.local[0]!)]
    await one.getByLabel('New note').fill('buy tea')
    await one.getByRole('button', { name: 'Add' }).click()
    await two.getByLabel('buy tea').check()
    await expect.poll(() => one.getByLabel('buy tea').isChecked()).toBe(true)
    expect(problems).toEqual([])
    const { items } = (await (await fetch(`${serverUrl}/db/app/notes?embed`)).json()) as { items: { value: object }[] }
    expect(items.map(({ value }) => value)).toMatchObject([{ text: 'buy tea', isDone: true }])

    const ended = once(dev, 'exit')
    process.kill(-dev.pid!, 'SIGINT')
    await ended
    await expect.poll(() => isAnswered(`${serverUrl}/ready`)).toBe(false)
    expect(output).not.toMatch(/error/i)
  }, 240_000)
})

/** Their texts by path. */
function filesIn(path: string): Readonly<Record<string, string>> {
  const entries = readdirSync(path, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name)).sort()
  return Object.fromEntries(paths.map(each => [relative(path, each), readFileSync(each, 'utf8')]))
}
