/**
 * A newcomer follows the README with nothing but Node: clone, start, look at the page, write and read with curl and with the client,
 * which creates a bucket, stop, restart, and find everything there. The commands are read from the README itself: if one of them does
 * not work, this fails. In less than five minutes, with fewer than ten commands.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '@freshet/engines/under-test/free-port'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { describeInChromium, startChromium } from './chromium.js'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const FIVE_MINUTES_MS = 300_000
const COMMANDS_MAX = 9
const ADDRESS = 'localhost:7700'

describeInChromium('a newcomer who follows the README', () => {
  const commands: string[] = []
  let folder: string
  let clone: string
  let port: number
  let server: ChildProcess | undefined

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'freshet-newcomer-'))
    clone = join(folder, 'freshet')
    port = await freePort()
  })
  afterAll(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** As typed into a shell, in the clone, on a free port. */
  async function type(command: string): Promise<string> {
    commands.push(command)
    return runInClone(command, commands.length === 1 ? folder : clone)
  }

  async function runInClone(command: string, cwd = clone): Promise<string> {
    const options = { cwd, env: environment(port) }
    const { stdout } = await promisify(execFile)('bash', ['-ec', here(command)], options).catch(error => {
      throw new Error(`${command}: ${error.stdout}${error.stderr}`)
    })
    return stdout
  }

  /** The same for a command that runs until Ctrl-C. Resolves when the page is there. */
  async function start(command: string): Promise<void> {
    commands.push(command)
    const child = spawn('bash', ['-ec', command], { cwd: clone, env: environment(port), detached: true })
    server = child
    let printed = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text
      })
    }
    await vi.waitUntil(
      () => {
        if (child.exitCode !== null) throw new Error(`${command} ended with exit code ${child.exitCode}:\n${printed}`)
        return printed.includes(`:${port}`)
      },
      { timeout: FIVE_MINUTES_MS, interval: 50 },
    )
  }

  /** Ctrl-C: the signal goes to everything that the shell has started. */
  async function stop(): Promise<void> {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, 'exit')
    process.kill(-server.pid!, 'SIGINT')
    await ended
  }

  const here = (text: string) => text.replaceAll(ADDRESS, `localhost:${port}`)
  const get = (path: string) => fetch(here(`http://${ADDRESS}${path}`))

  test.skipIf(reasonToSkip('curl') !== undefined)(
    'has a page, a bucket and data that survive a restart, in five minutes and fewer than ten commands',
    async () => {
      const beganMs = performance.now()
      await type(`git clone --quiet ${repository} freshet`)
      const readme = readReadme(join(clone, 'README.md'), join(clone, 'docs/tutorials/first-steps.md'))
      const [install, run] = readme.start.split(' && ') as [string, string]
      await type(install)
      expect(await runInClone('npx freshet --version')).toMatch(/^\d+\.\d+\.\d+\n$/)
      await start(run)
      expect(await shownPage(here(`http://${ADDRESS}/`))).toContain('Freshet')

      expect((await get('/db/tutorial/offers/42')).status).toBe(404)
      const answers: string[] = []
      for (const command of readme.curls) answers.push(await type(command))
      expect(answers).toEqual([
        expect.stringContaining('"version":'),
        expect.stringMatching(/^HTTP\/1\.1 200.*ETag: /s),
        expect.stringContaining('"position":'),
      ])
      writeFileSync(join(clone, 'try.mjs'), here(readme.program))
      expect((await type('node try.mjs')).trimEnd().split('\n')).toEqual(readme.printed)
      expect(await (await get('/db/tutorial/offers?settings')).json()).toMatchObject({ kind: 'object' })

      await stop()
      await vi.waitFor(() => expect(get('/live')).rejects.toThrow(), { timeout: FIVE_MINUTES_MS })
      await start(run)
      const tea = await type(`curl -s http://${ADDRESS}/db/tutorial/products/42`)
      expect(JSON.parse(tea)).toEqual({ name: 'Tea', price: 4 })
      expect(await (await get('/db/tutorial/offers/42')).json()).toEqual({ was: 5 })
      expect(commands.length).toBeLessThanOrEqual(COMMANDS_MAX)
      expect(performance.now() - beganMs).toBeLessThan(FIVE_MINUTES_MS)
    },
    FIVE_MINUTES_MS,
  )
})

interface Readme {
  readonly start: string
  readonly curls: readonly string[]
  /** The example, and the output that it promises. */
  readonly program: string
  readonly printed: readonly string[]
}

/** How to start is in the README, and what to type next on the page that it names. */
function readReadme(path: string, next: string): Readme {
  const start = shellsOf(readFileSync(path, 'utf8'))[0]!.find(line => line.includes('npm start'))
  const text = readFileSync(next, 'utf8')
  const curls = shellsOf(text).find(lines => lines.every(line => line.startsWith('curl ')))
  const program = /```js\n(.*?)```/s.exec(text)?.[1]
  if (start === undefined || curls === undefined || program === undefined) throw new Error('The README has changed.')
  return {
    ...{ start, curls, program },
    printed: [...program.matchAll(/^ *console\.log\(.*\) \/\/ (.*)$/gm)].map(([, line]) => line!),
  }
}

function shellsOf(text: string): readonly (readonly string[])[] {
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => linesOf(block!))
}

/** Without comments. */
function linesOf(block: string): readonly string[] {
  return block
    .split('\n')
    .map(line => line.replace(/\s+#.*$/, '').trim())
    .filter(line => line !== '')
}

/** As on the newcomer's own machine, after the `export` line: nothing of the test run, nor of the npm that started it. */
function environment(port: number): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|VITEST|NODE_|FRESHET_|FORCE_COLOR|TEST$)/.test(name),
  )
  return { ...Object.fromEntries(own), PORT: `${port}`, FRESHET: `http://localhost:${port}` }
}

async function shownPage(url: string): Promise<string> {
  const browser = await startChromium()
  try {
    const page = await browser.newPage()
    const problems: string[] = []
    page.on('pageerror', error => problems.push(error.message))
    await page.goto(url)
    await page.locator('h1').waitFor()
    expect(problems).toEqual([])
    return await page.locator('body').innerText()
  } finally {
    await browser.close()
  }
}
