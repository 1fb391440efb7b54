/** A server whose disk is full: what it reports, and that it resumes when there is space again. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startFreshet } from './freshet-process.js'

const mayMount = process.getuid?.() === 0 && process.platform === 'linux'
if (!mayMount) console.warn('Not tested: a full disk. It needs a small file system, which only root can mount.')
const WAIT_MS_MAX = 60_000

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + WAIT_MS_MAX
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error('The condition did not come true in time.')
    await delay(50)
  }
}

// Only root can mount a file system that is small enough to fill.
test.skipIf(!mayMount)('a server on a full disk is not ready, and everything it prints is a line of JSON', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'freshet-full-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder])
  const server = await startFreshet(['serve', '--data', join(folder, 'store'), '--log-format', 'json'])
  try {
    const headers = { 'content-type': 'application/json' }
    let sent = 0
    const put = async (length: number) => {
      const body = JSON.stringify({ text: 'x'.repeat(length) })
      return (await fetch(`${server.url}/db/a/b/${sent++}`, { method: 'PUT', headers, body })).status
    }
    // Any of its processes.
    const ready = async () => (await fetch(`${server.url}/ready`, { headers: { connection: 'close' } })).status
    expect(await ready()).toBe(200)
    for (const length of [500_000, 20_000]) await until(async () => (await put(length)) === 507)
    let refused = 0
    await until(async () => {
      refused = (await ready()) === 507 ? refused + 1 : 0
      return refused === 20
    })
    expect((await fetch(`${server.url}/db/a/b/0`)).status).toBe(200)
    execFileSync('mount', ['-o', 'remount,size=64m', folder])
    await until(async () => (await ready()) === 200)
    expect(await put(500_000)).toBe(201)
    await server.stop()
    const { errors } = await server.ended
    expect(errors).toBe('')
    for (const line of server.output().trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('level')
    expect(server.output()).toContain('message from a library')
  } finally {
    await server.kill()
    execFileSync('umount', [folder])
    rmSync(folder, { recursive: true, force: true })
  }
})
