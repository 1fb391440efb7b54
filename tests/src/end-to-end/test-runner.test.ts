/** The runner behind `npm test`, as built: real runs over small folders of tests. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { provideServices, reasonToSkip, type Service } from '../runner/services.js'
import { isRunning } from './freshet-process.js'

const runner = fileURLToPath(new URL('../../dist/run.js', import.meta.url))
const undo: Array<() => void> = []

afterEach(() => {
  for (const step of undo.splice(0)) step()
})

/** Starts the runner over a new folder with these files. `--globals`, because nothing can be imported from there. */
function start(files: Readonly<Record<string, string>>): ChildProcess {
  const folder = mkdtempSync(join(tmpdir(), 'freshet-test-runner-'))
  for (const [name, source] of Object.entries(files)) writeFileSync(join(folder, name), source)
  const child = spawn(process.execPath, [runner, '--root', folder, '--globals'], {
    // Nothing of the run that this test is part of may leak into the one it starts.
    env: { PATH: process.env.PATH, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  undo.push(() => {
    child.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  return child
}

async function run(files: Readonly<Record<string, string>>): Promise<{ exitCode: number | null; lastLine: string }> {
  const child = start(files)
  const ended = new Promise<number | null>(resolve => child.once('close', resolve))
  const [output, errors, exitCode] = await Promise.all([text(child.stdout!), text(child.stderr!), ended])
  // Without a last line the reason is in the errors.
  return { exitCode, lastLine: output.split('\n').at(-2) ?? errors }
}

describe('the last line of a run', () => {
  test('counts cases, not files, and a run without failures succeeds', async () => {
    const files = { 'a.test.js': "test('a', () => {}); test('b', () => {})", 'b.test.js': "test('c', () => {})" }
    expect(await run(files)).toEqual({ exitCode: 0, lastLine: '3 passed, 0 failed' })
  })

  test('names skipped cases only where there are some, and a failed case fails the run', async () => {
    const files = { 'a.test.js': "test('a', () => {}); test('b', () => expect(1).toBe(2)); test.skip('c', () => {})" }
    expect(await run(files)).toEqual({ exitCode: 1, lastLine: '1 passed, 1 failed, 1 skipped' })
  })

  test('counts a file that cannot be loaded as a failure', async () => {
    const files = { 'a.test.js': "test('a', () => {})", 'b.test.js': "import './absent.js'" }
    expect(await run(files)).toEqual({ exitCode: 1, lastLine: '1 passed, 1 failed' })
  })

  test('counts a hook that throws as a failure, and the cases it kept from running as skipped', async () => {
    const files = { 'a.test.js': "describe('a', () => { beforeAll(() => { throw 1 }); test('b', () => {}) })" }
    expect(await run(files)).toEqual({ exitCode: 1, lastLine: '0 passed, 1 failed, 1 skipped' })
  })

  test('counts an error that belongs to no case as a failure', async () => {
    const files = { 'a.test.js': "test('a', () => { Promise.reject(new Error('nobody waits for this')) })" }
    expect(await run(files)).toEqual({ exitCode: 1, lastLine: '1 passed, 1 failed' })
  })

  test('is there when nothing ran, and that is no success', async () => {
    expect(await run({})).toEqual({ exitCode: 1, lastLine: '0 passed, 0 failed' })
  })
})

test('an interrupted run leaves no worker and no server behind', async () => {
  const child = start({
    'a.test.js': `
      import { spawn } from 'node:child_process'
      test('hangs', async () => {
        const server = spawn('sleep', ['100'])
        console.log('<' + process.pid + ' ' + server.pid + '>')
        await new Promise(() => setInterval(() => {}, 1000))
      })`,
  })
  let output = ''
  child.stdout!.setEncoding('utf8').on('data', chunk => {
    output += chunk
  })
  const [, worker, server] = await vi.waitUntil(() => /<(\d+) (\d+)>/.exec(output), { timeout: 60_000 })
  const ended = new Promise<number | null>(resolve => child.once('exit', resolve))
  child.kill('SIGINT')
  expect(await ended).toBe(130)
  await expect.poll(() => [worker, server].map(pid => isRunning(Number(pid)))).toEqual([false, false])
})

describe('a missing service', () => {
  function scene(options: { isCi?: boolean; canInstall?: boolean; installWorks?: boolean }) {
    const said: string[] = []
    const installed: string[] = []
    let isPresent = false
    const service: Service = {
      name: 'redis',
      probe: () => isPresent,
      debianPackages: ['redis-server'],
      suites: ['stores'],
    }
    const machine = {
      isCi: options.isCi ?? false,
      canInstall: options.canInstall ?? false,
      install: async (packages: readonly string[]) => {
        installed.push(...packages)
        isPresent = options.installWorks ?? false
      },
      say: (line: string) => said.push(line),
    }
    return { said, installed, provide: (suites: string[]) => provideServices([service], suites, machine) }
  }

  test('is installed where we may', async () => {
    const { provide, installed } = scene({ canInstall: true, installWorks: true })
    expect(await provide(['bloom', 'stores'])).toEqual({ leftOut: [], failed: [] })
    expect(installed).toEqual(['redis-server'])
  })

  test.each([{ canInstall: false }, { canInstall: true, installWorks: false }])(
    'that cannot be had leaves its tests out, and one sentence says which and how to get them: %o',
    async options => {
      const { provide, said } = scene(options)
      expect(await provide(['stores'])).toEqual({ leftOut: ['redis'], failed: [] })
      expect(said.at(-1)).toBe(
        'Left out: the tests of stores that need redis, which is not installed; ' +
          'to run them, install it (Debian: sudo apt-get install redis-server) and start again.',
      )
    },
  )

  test('is a failure in CI, and leaves nothing out', async () => {
    const { provide, said } = scene({ isCi: true })
    expect(await provide(['stores'])).toEqual({ leftOut: [], failed: ['redis'] })
    expect(said.at(-1)).toContain('sudo apt-get install redis-server')
  })

  test('is of no concern to suites that do not need it', async () => {
    const { provide, said, installed } = scene({ isCi: true, canInstall: true })
    expect(await provide(['bloom'])).toEqual({ leftOut: [], failed: [] })
    expect([...said, ...installed]).toEqual([])
  })

  test('gives its tests a reason to skip, and others none', () => {
    expect(reasonToSkip('chromium', { FRESHET_SKIP: 'redis,chromium' })).toContain('chromium is not installed')
    expect(reasonToSkip('chromium', { FRESHET_SKIP: 'redis' })).toBeUndefined()
    expect(reasonToSkip('chromium', {})).toBeUndefined()
  })
})
