/** The runner behind `npm test`, as built: real runs over small folders of tests. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { provideServices, reasonToSkip, type Service } from '../runner/services.js'
import { SLOWEST, slowestFirst } from '../runner/slowest-first.js'
import { isRunning } from './freshet-process.js'

const runner = fileURLToPath(new URL('../../dist/run.js', import.meta.url))
const undo: Array<() => void> = []

afterEach(() => {
  for (const step of undo.splice(0)) step()
})

/** Starts the runner over a new folder with these files. With `--globals`, because nothing can be imported from there. */
function start(files: Readonly<Record<string, string>>): ChildProcess {
  const folder = mkdtempSync(join(tmpdir(), 'freshet-test-runner-'))
  for (const [name, source] of Object.entries(files)) writeFileSync(join(folder, name), source)
  const child = spawn(process.execPath, [runner, '--root', folder, '--globals'], {
    // No setting of the surrounding test run may leak into the one that this starts.
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
  test.each([
    [
      'counts cases, not files, and a run without failures succeeds',
      { 'a.test.js': "test('a', () => {}); test('b', () => {})", 'b.test.js': "test('c', () => {})" },
      { exitCode: 0, lastLine: '3 passed, 0 failed' },
    ],
    [
      'names skipped cases only if there are some, and a failed case fails the run',
      { 'a.test.js': "test('a', () => {}); test('b', () => expect(1).toBe(2)); test.skip('c', () => {})" },
      { exitCode: 1, lastLine: '1 passed, 1 failed, 1 skipped' },
    ],
    [
      'counts a file that cannot be loaded as a failure',
      { 'a.test.js': "test('a', () => {})", 'b.test.js': "import './absent.js'" },
      { exitCode: 1, lastLine: '1 passed, 1 failed' },
    ],
    [
      'counts a hook that throws as a failure, and the cases that it prevented as skipped',
      { 'a.test.js': "describe('a', () => { beforeAll(() => { throw 1 }); test('b', () => {}) })" },
      { exitCode: 1, lastLine: '0 passed, 1 failed, 1 skipped' },
    ],
    [
      'counts an error that belongs to no case as a failure',
      { 'a.test.js': "test('a', () => { Promise.reject(new Error('never awaited')) })" },
      { exitCode: 1, lastLine: '1 passed, 1 failed' },
    ],
    ['is printed when nothing ran, and the run fails', {}, { exitCode: 1, lastLine: '0 passed, 0 failed' }],
  ])('%s', async (_, files, outcome) => {
    expect(await run(files)).toEqual(outcome)
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
      suites: ['engines'],
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

  test('is installed if the run may install', async () => {
    const { provide, installed } = scene({ canInstall: true, installWorks: true })
    expect(await provide(['bloom', 'engines'])).toEqual({ leftOut: [], failed: [] })
    expect(installed).toEqual(['redis-server'])
  })

  test('is downloaded before the tests begin; its tests are skipped if that fails, and one line says why', async () => {
    const said: string[] = []
    const machine = { isCi: false, canInstall: false, install: async () => {}, say: (line: string) => said.push(line) }
    const begun: string[] = []
    const cassandra = (download: () => Promise<unknown>): Service => {
      return { name: 'cassandra', probe: () => true, debianPackages: ['maven'], suites: ['engines'], download }
    }
    const works = cassandra(async () => begun.push('cassandra'))
    expect(await provideServices([works], ['bloom'], machine)).toEqual({ leftOut: [], failed: [] })
    expect(begun).toEqual([])
    expect(await provideServices([works], ['engines'], machine)).toEqual({ leftOut: [], failed: [] })
    expect([begun, said]).toEqual([['cassandra'], []])
    const fails = cassandra(() => Promise.reject(new Error('no network')))
    expect(await provideServices([fails], ['engines'], machine)).toEqual({ leftOut: ['cassandra'], failed: [] })
    expect(said[0]).toBe('cassandra cannot be downloaded: no network')
  })

  test('is installed together with other missing ones, and alone if that failed', async () => {
    const isThere = new Set<string>()
    const runs: (readonly string[])[] = []
    const install = async (packages: readonly string[]) => {
      runs.push(packages)
      if (!packages.includes('squid')) for (const each of packages) isThere.add(each)
    }
    const service = (name: string): Service => {
      return { name, probe: () => isThere.has(name), debianPackages: [name], suites: ['caches'] }
    }
    const machine = { isCi: false, canInstall: true, install, say: () => {} }
    expect(await provideServices(['nginx', 'curl'].map(service), ['caches'], machine)).toEqual({
      leftOut: [],
      failed: [],
    })
    expect(runs.splice(0)).toEqual([['nginx', 'curl']])
    expect(await provideServices(['varnish', 'squid', 'haproxy'].map(service), ['caches'], machine)).toEqual({
      leftOut: ['squid'],
      failed: [],
    })
    expect(runs).toEqual([['varnish', 'squid', 'haproxy'], ['varnish'], ['squid'], ['haproxy']])
  })

  test.each([{ canInstall: false }, { canInstall: true, installWorks: false }])(
    'that cannot be installed skips its tests, and one sentence says which and how to run them: %o',
    async options => {
      const { provide, said } = scene(options)
      expect(await provide(['engines'])).toEqual({ leftOut: ['redis'], failed: [] })
      expect(said.at(-1)).toBe(
        'Skipped: the tests of engines that need redis, which is not installed; ' +
          'to run them, install it (Debian: sudo apt-get install redis-server) and start again.',
      )
    },
  )

  test('is a failure in CI, and skips nothing', async () => {
    const { provide, said } = scene({ isCi: true })
    expect(await provide(['engines'])).toEqual({ leftOut: [], failed: ['redis'] })
    expect(said.at(-1)).toContain('sudo apt-get install redis-server')
  })

  test('does not matter to suites that do not need it', async () => {
    const { provide, said, installed } = scene({ isCi: true, canInstall: true })
    expect(await provide(['bloom'])).toEqual({ leftOut: [], failed: [] })
    expect([...said, ...installed]).toEqual([])
  })

  test('gives its own tests a reason to skip, and no others', () => {
    expect(reasonToSkip('chromium', { FRESHET_SKIP: 'redis,chromium' })).toContain('chromium is not installed')
    expect(reasonToSkip('chromium', { FRESHET_SKIP: 'redis' })).toBeUndefined()
    expect(reasonToSkip('chromium', {})).toBeUndefined()
  })
})

describe('the order of the files', () => {
  test('has the slowest first, and then project by project', () => {
    const file = (project: string, moduleId: string) => ({ project: { name: project }, moduleId })
    const [slowest, second] = SLOWEST.map(name => file('x', `/repository/${name}.test.ts`))
    const [one, two, three] = [file('a', '/1.test.ts'), file('b', '/0.test.ts'), file('b', '/2.test.ts')]
    expect(slowestFirst([three, second!, one, slowest!, two])).toEqual([slowest, second, one, two, three])
  })

  test('names only existing files', () => {
    const repository = fileURLToPath(new URL('../../..', import.meta.url))
    const files = execFileSync('git', ['ls-files', '*.test.ts'], { cwd: repository, encoding: 'utf8' }).split('\n')
    const matches = (name: string) => files.filter(path => path.endsWith(`/${name}.test.ts`)).length
    expect(SLOWEST.filter(name => matches(name) !== 1)).toEqual([])
  })
})
