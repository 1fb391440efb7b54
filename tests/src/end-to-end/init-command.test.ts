/** `freshet init`: the app that it makes has types that are right, is built, and works in a real browser against `freshet dev`. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { TOOLS } from '@freshet/cli/dist/init/run-init.js'
import type { Browser } from 'playwright-core'
import { type PreviewServer, preview } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeInChromium, startChromium } from './chromium.js'
import { endFreshetProcesses, runFreshet, startFreshet } from './freshet-process.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const bin = (name: string) => join(root, 'node_modules/.bin', name)

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

test('versions are pinned, to those that this repository is tested with', async () => {
  const { exitCode } = await runFreshet(['init', join(folder, 'plain'), '--json'])
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

describeInChromium('the app that freshet init makes', () => {
  let browser: Browser
  let site: PreviewServer

  beforeAll(async () => {
    const { exitCode, errors } = await runFreshet(['init', app, '--link', root], {
      environment: { HOME: process.env.HOME ?? '/root' },
    })
    expect([exitCode, errors]).toEqual([0, expect.stringContaining('Packing')])
    // Without the tools, which would have to be fetched: they are taken from here.
    const path = join(app, 'package.json')
    const { devDependencies: _, ...manifest } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
    writeFileSync(path, JSON.stringify(manifest))
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--silent'], { cwd: app })
    for (const tool of ['vite', 'typescript'])
      symlinkSync(join(root, 'node_modules', tool), join(app, 'node_modules', tool))
    browser = await startChromium()
  }, 120_000)

  afterAll(async () => {
    await browser?.close()
    await site?.close()
  })

  test('is typed, built, and shows in one page what is written in another', async () => {
    const server = await startFreshet(['dev', '--no-page', '--no-samples', '--data', join(folder, 'data')])
    await run(bin('tsc'), [], { cwd: app })
    await run(bin('vite'), ['build'], { cwd: app, env: { ...process.env, VITE_FRESHET_URL: server.url } })
    site = await preview({ root: app, preview: { port: 0, host: '127.0.0.1' }, logLevel: 'silent' })
    const address = site.resolvedUrls!.local[0]!
    const problems: string[] = []
    const open = async () => {
      const page = await (await browser.newContext()).newPage()
      page.on('pageerror', error => problems.push(error.message))
      await page.goto(address)
      await page.getByText('notes. Open this page twice').waitFor()
      return page
    }
    const [one, two] = [await open(), await open()]
    await one.getByLabel('New note').fill('buy tea')
    await one.getByRole('button', { name: 'Add' }).click()
    await two.getByLabel('buy tea').check()
    await expect.poll(() => one.getByLabel('buy tea').isChecked(), { timeout: 20_000 }).toBe(true)
    expect(problems).toEqual([])
    const { items } = (await (await fetch(`${server.url}/db/app/notes?embed`)).json()) as { items: { value: object }[] }
    expect(items.map(({ value }) => value)).toMatchObject([{ text: 'buy tea', isDone: true }])
  }, 120_000)
})
