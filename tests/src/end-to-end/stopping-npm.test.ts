/** A server that npm started ends with that npm, and so does everything that `npm run dev` of a starter app runs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@freshet/engines/under-test/free-port'
import { afterAll, expect, test, vi } from 'vitest'

const FRESHET = fileURLToPath(import.meta.resolve('@freshet/cli/dist/freshet.js'))
const folder = mkdtempSync(join(tmpdir(), 'freshet-npm-'))

/** The process ids of all programs that the tests start, one per line. */
const pids = join(folder, 'pids')

afterAll(async () => {
  // A server goes on writing to its folder for a moment after it has stopped listening.
  const started = readFileSync(pids, 'utf8').trim().split('\n').map(Number)
  await vi.waitUntil(() => !started.some(isRunning), { timeout: 20_000 })
  rmSync(folder, { recursive: true })
})

/** Writes a program that runs `script` in Node. */
function writeProgram(path: string, script: string): void {
  const lines = ['#!/bin/sh', `echo $$ >> ${JSON.stringify(pids)}`, `exec node ${JSON.stringify(script)} "$@"`, '']
  writeFileSync(path, lines.join('\n'), { mode: 0o755 })
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** As in a user's app: a chain of commands, so that there is a shell between npm and the server. */
async function startByNpm(): Promise<{ readonly url: string; readonly npm: ChildProcess }> {
  writeProgram(join(folder, 'freshet'), FRESHET)
  const script = 'true && ./freshet dev --no-page --no-samples --port 0 --data data'
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'app', private: true, scripts: { start: script } }),
  )
  const npm = spawn('npm', ['start'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  const url = await new Promise<string>(resolve => {
    npm.stdout.on('data', chunk => {
      output += chunk
      const found = /http:\/\/localhost:\d+/.exec(output)
      if (found) resolve(found[0])
    })
  })
  return { url, npm }
}

async function isUp(url: string): Promise<boolean> {
  return fetch(`${url}/live`).then(
    () => true,
    () => false,
  )
}

test('SIGTERM to npm stops the server, and the folder is free again', async () => {
  for (let start = 0; start < 2; start++) {
    const { url, npm } = await startByNpm()
    expect(await isUp(url)).toBe(true)
    npm.kill('SIGTERM')
    await expect.poll(() => isUp(url), { timeout: 20_000 }).toBe(false)
  }
})

test('SIGTERM to npm run dev of a starter app stops its server and its pages', async () => {
  const app = join(folder, 'app')
  const bin = join(app, 'node_modules', '.bin')
  mkdirSync(bin, { recursive: true })
  copyFileSync(join(dirname(FRESHET), '..', 'template', 'dev.mjs'), join(app, 'dev.mjs'))
  writeFileSync(join(app, 'index.html'), '<title>app</title>')
  writeFileSync(join(app, 'package.json'), JSON.stringify({ private: true, scripts: { dev: 'true && node dev.mjs' } }))
  writeProgram(join(bin, 'freshet'), FRESHET)
  const vite = dirname(fileURLToPath(import.meta.resolve('vite/package.json')))
  writeProgram(join(bin, 'vite'), join(vite, 'bin', 'vite.js'))
  const [server, pages] = [await freePort(), await freePort()]
  const urls = [`http://localhost:${server}`, `http://localhost:${pages}`]
  const npm = spawn('npm', ['run', 'dev', '--', '--port', `${pages}`], {
    ...{ cwd: app, env: { ...process.env, FRESHET_PORT: `${server}` }, stdio: 'ignore' },
  })
  const areUp = () => Promise.all(urls.map(isUp))
  await expect.poll(areUp, { timeout: 60_000 }).toEqual([true, true])
  npm.kill('SIGTERM')
  await expect.poll(areUp, { timeout: 20_000 }).toEqual([false, false])
})
