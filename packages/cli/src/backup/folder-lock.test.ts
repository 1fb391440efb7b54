import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockFolder } from './folder-lock.js'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const change = (changes: object) => {
  const file = join(folder, readdirSync(folder)[0]!)
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...changes }))
  return file
}

test('only one process at a time holds the lock, and the next gets it after its release', async () => {
  const first = await lockFolder(folder)
  const tries = await Promise.allSettled([lockFolder(folder), lockFolder(folder)])
  for (const each of tries) {
    expect(each).toMatchObject({ reason: { code: 'STORE_LOCKED', message: expect.stringContaining(`${process.pid}`) } })
  }
  await first.release()
  await (await lockFolder(folder)).release()
  expect(readdirSync(folder)).toEqual([])
})

test('of several processes that try at once, no two get the lock', async () => {
  for (let round = 0; round < 10; round++) {
    const tries = await Promise.allSettled(Array.from({ length: 3 }, () => lockFolder(folder)))
    const got = tries.filter(each => each.status === 'fulfilled')
    expect(got.length).toBeLessThanOrEqual(1)
    await got[0]?.value.release()
  }
})

test('the lock of a process that has ended is taken over', async () => {
  const child = spawn(process.execPath, ['--eval', ''], { stdio: 'ignore' })
  await once(child, 'exit')
  await lockFolder(folder)
  for (const stale of [{ pid: child.pid }, { boot: 'another' }, { startedAt: '1' }]) {
    change(stale)
    await lockFolder(folder)
    expect(readdirSync(folder)).toHaveLength(1)
  }
})

test('whether a process on another machine has ended is unknown, so its lock is left alone', async () => {
  await lockFolder(folder)
  const file = change({ host: 'elsewhere', boot: 'another' })
  await expect(lockFolder(folder)).rejects.toThrow(`on elsewhere. If it has ended, remove ${file}`)
})
