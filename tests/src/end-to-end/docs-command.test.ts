/** `npm run docs`: builds the documentation, serves it to this machine, and opens it in a browser. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readArguments } from '@freshet/site/dist/docs-arguments.js'
import { browserCommand } from '@freshet/site/dist/serve/open-browser.js'
import { serveSite } from '@freshet/site/dist/serve/serve-site.js'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { repository } from './doc-blocks.js'

const PROGRAM = fileURLToPath(import.meta.resolve('@freshet/site/dist/docs.js'))
const running = new Set<ChildProcess>()
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-docs-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
})

interface Run {
  readonly child: ChildProcess
  output(): string
  readonly exitCode: Promise<number | null>
}

function run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Run {
  const { DISPLAY, WAYLAND_DISPLAY, CI, ...rest } = process.env
  const child = spawn(process.execPath, [PROGRAM, ...args], { cwd: repository, env: { ...rest, ...environment } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', text => (output += text))
  running.add(child)
  return { child, output: () => output, exitCode: new Promise(resolve => child.once('close', resolve)) }
}

async function taken(): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { server, port: (server.address() as { port: number }).port }
}

test('builds, serves and opens the site, and Ctrl-C stops it', async () => {
  const opened = join(folder, 'opened')
  const program = join(folder, 'xdg-open')
  writeFileSync(program, `#!/bin/sh\nprintf %s "$1" > '${opened}.new' && mv '${opened}.new' '${opened}'\n`)
  chmodSync(program, 0o755)
  const path = `${folder}${delimiter}${process.env.PATH}`
  const docs = run(['--port', '0'], { DISPLAY: ':7', PATH: path })
  await expect.poll(docs.output).toMatch(/pages, .* none of them broken/)
  await expect.poll(docs.output).toMatch(/The documentation is at http:\/\/localhost:\d+ \(Ctrl-C stops the server\)/)
  const [url = ''] = /http:\/\/localhost:\d+/.exec(docs.output()) ?? []
  await expect.poll(() => existsSync(opened)).toBe(true)
  expect(readFileSync(opened, 'utf8')).toBe(url)
  const home = await fetch(url)
  expect(home.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(await home.text()).toContain('<h1 id="freshet">')
  docs.child.kill('SIGINT')
  expect(await docs.exitCode).toBe(0)
})

test('a port that is taken is reported with advice', async () => {
  const { server, port } = await taken()
  await expect(serveSite(folder, { port })).rejects.toThrow(
    `Port ${port} is taken by another program. Let the system choose a free port: npm run docs -- --port 0`,
  )
  server.close()
})

test('without a port, the next free one is used if the usual one is taken', async () => {
  const first = await serveSite(folder, { port: undefined })
  const second = await serveSite(folder, { port: undefined })
  expect(second.portTaken).toBe(7790)
  expect(second.url).not.toBe(first.url)
  await first.close()
  await second.close()
})

test('serves no file outside its folder', async () => {
  const site = await serveSite(join(folder, 'inside'), { port: 0 })
  writeFileSync(join(folder, 'secret.txt'), 'secret')
  for (const path of [
    '/..%2fsecret.txt',
    '/%2e%2e%2fsecret.txt',
    '/..%5csecret.txt',
    '/a/..%2f..%2fsecret.txt',
    '/%zz',
    '/%00',
  ]) {
    const answer = await fetch(site.url + path)
    expect([path, answer.status]).toEqual([path, 404])
    expect(await answer.text()).toContain('This page does not exist.')
  }
  await site.close()
})

test('with --out it only builds', async () => {
  const out = join(folder, 'only built')
  const docs = run(['--out', out])
  expect(await docs.exitCode).toBe(0)
  expect(docs.output()).not.toContain('http://')
  expect(readFileSync(join(out, 'index.html'), 'utf8')).toContain('<h1 id="freshet">')
})

test.each([
  ['serve', 'Unknown argument "serve".'],
  ['--prot=80', "Unknown option '--prot'"],
  ['--port=many', '--port takes a port from 0 (any free port) to 65535, not "many".'],
  ['--port=70000', 'not "70000".'],
  ['--out=', '--out takes the name of a folder.'],
])('a mistyped command line (%s) is answered with the usage and exit code 2', async (argument, message) => {
  const docs = run([argument])
  expect(await docs.exitCode).toBe(2)
  expect(docs.output()).toContain(message)
  expect(docs.output()).toContain('Usage: npm run docs [-- OPTIONS]')
})

test('refuses options that contradict each other', () => {
  expect(() => readArguments(['--out', 'here', '--port', '1'])).toThrow('With --out the site is not served')
  expect(readArguments(['--no-open'])).toEqual({ serve: { port: undefined, opens: false } })
})

test('opens a browser where there is one', () => {
  const command = (platform: NodeJS.Platform, environment = {}) => browserCommand('URL', { platform, environment })
  expect(command('darwin')).toEqual(['open', 'URL'])
  expect(command('win32')?.at(-1)).toBe('URL')
  expect(command('linux', { WAYLAND_DISPLAY: 'wayland-0' })).toEqual(['xdg-open', 'URL'])
  expect(command('linux')).toBeUndefined()
  expect(command('darwin', { CI: 'true' })).toBeUndefined()
})
