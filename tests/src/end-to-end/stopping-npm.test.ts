/** A server that npm started ends with that npm. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

const FRESHET = fileURLToPath(import.meta.resolve('@freshet/cli/dist/freshet.js'))
const folder = mkdtempSync(join(tmpdir(), 'freshet-npm-'))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** As in an app of a user: a chain of commands, so that a shell stands between npm and the server. */
async function startByNpm(): Promise<{ readonly url: string; readonly npm: ChildProcess }> {
  const script = `true && node ${JSON.stringify(FRESHET)} dev --no-page --no-samples --port 0 --data data`
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
