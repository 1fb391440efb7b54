/** One writer at a time: the errors that a second one gets, and what keeps the data safe if the lock is ignored. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openEmbeddedStore } from './embedded-store.js'
import { TASKS_PER_BATCH_MAX } from './group-commit.js'
import { startProcess } from './under-test/start-process.js'
import { temporaryFolder } from './under-test/temporary-folder.js'
import { LOCK_FILE } from './writer-lock.js'

const writerProcess = new URL('./under-test/writer-process.js', import.meta.url)
const isOpen = (message: unknown): message is 'open' => message === 'open'
const isLinux = process.platform === 'linux'
if (!isLinux) console.warn('Not tested: the lock of a zombie. It needs /proc, which only Linux has.')
const write = { writes: [{ key: 'a/b/c', contentType: 'text/plain', body: Buffer.from('x') }] }

test('the error of a second server names the process that has the store open, and what to do', async () => {
  const folder = await temporaryFolder()
  const writer = startProcess(writerProcess, [folder.path])
  await writer.message(isOpen)
  await expect(openEmbeddedStore({ path: folder.path })).rejects.toMatchObject({
    code: 'STORE_LOCKED',
    message:
      `The store at ${folder.path} is open in process ${writer.child.pid}. ` +
      'Stop it, or choose another path with --data.',
    details: { pid: writer.child.pid },
  })
  await writer.kill()
  await folder.remove()
})

test('a process cannot open a store twice, but can after closing it', async () => {
  const folder = await temporaryFolder()
  const store = await openEmbeddedStore({ path: folder.path })
  await expect(openEmbeddedStore({ path: folder.path })).rejects.toMatchObject({ code: 'STORE_LOCKED' })
  await store.close()
  await (await openEmbeddedStore({ path: folder.path })).close()
  await folder.remove()
})

test('a lock whose process was killed is taken over silently', async () => {
  const folder = await temporaryFolder()
  const writer = startProcess(writerProcess, [folder.path])
  await writer.message(isOpen)
  await writer.kill()
  await (await openEmbeddedStore({ path: folder.path })).close()
  await folder.remove()
})

test('a lock is stale if its process id now belongs to another process, or if it is of an earlier boot', async () => {
  const folder = await temporaryFolder()
  const file = join(folder.path, LOCK_FILE)
  const store = await openEmbeddedStore({ path: folder.path })
  const lock = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>
  await store.close()
  const other = spawn('sleep', ['60'])
  await once(other, 'spawn')
  for (const change of [{ pid: other.pid }, { startedAt: '1' }, { boot: 'another' }]) {
    await writeFile(file, JSON.stringify({ ...lock, ...change }))
    await (await openEmbeddedStore({ path: folder.path })).close()
  }
  await writeFile(file, 'no lock at all')
  await (await openEmbeddedStore({ path: folder.path })).close()
  await writeFile(file, JSON.stringify(lock))
  await expect(openEmbeddedStore({ path: folder.path })).rejects.toMatchObject({ code: 'STORE_LOCKED' })
  other.kill()
  await folder.remove()
})

// Elsewhere the system does not say which processes are zombies.
test.skipIf(!isLinux)('a lock is stale if its process has ended, even if its parent has not waited', async () => {
  const folder = await temporaryFolder()
  const module = new URL('../../dist/lmdb/index.js', import.meta.url).href
  const program = `
    const { openEmbeddedStore } = await import(${JSON.stringify(module)})
    await openEmbeddedStore({ path: ${JSON.stringify(folder.path)} })
    process.kill(process.pid, 'SIGKILL')`
  // The program that replaces the shell does not know the process that the shell started.
  const parent = spawn('sh', ['-c', '"$0" --input-type=module -e "$1" & exec sleep 60', process.execPath, program])
  const file = join(folder.path, LOCK_FILE)
  await expect.poll(() => readFile(file, 'utf8').catch(() => '')).not.toBe('')
  const { pid } = JSON.parse(await readFile(file, 'utf8')) as { pid: number }
  // Its main thread is a zombie, and its last other thread has ended.
  await expect.poll(() => readFile(`/proc/${pid}/stat`, 'utf8')).toMatch(/\) Z (?:\S+ ){16}1 /)
  await (await openEmbeddedStore({ path: folder.path })).close()
  parent.kill()
  await folder.remove()
})

test('a writer that was taken over writes nothing more, and leaves the lock of the other alone', async () => {
  const folder = await temporaryFolder()
  const file = join(folder.path, LOCK_FILE)
  const store = await openEmbeddedStore({ path: folder.path })
  await store.commit(write)
  const failures: unknown[] = []
  store.engine.observe({ onDurable: () => {}, onFailed: error => failures.push(error) })
  // As if an operator had removed the lock of a running server.
  await rm(file)
  const other = startProcess(writerProcess, [folder.path])
  await other.message(isOpen)
  await expect(store.commit(write)).rejects.toMatchObject({ code: 'STORE_TAKEN_OVER' })
  await expect(store.remember('a', Buffer.from('b'))).rejects.toMatchObject({ code: 'STORE_TAKEN_OVER' })
  expect(failures).toMatchObject([{ code: 'STORE_TAKEN_OVER' }])
  await store.close()
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ pid: other.child.pid })
  await other.kill()
  const again = await openEmbeddedStore({ path: folder.path })
  expect((await again.changes(await again.trimmedTo())).length).toBe(1)
  await again.close()
  await folder.remove()
})

test('each opening continues beyond the last position, by at least two batches, and from the clock', async () => {
  const folder = await temporaryFolder()
  let store = await openEmbeddedStore({ path: folder.path, positionsAfter: 0 })
  expect(await store.position()).toBe(0)
  await store.commit(write)
  for (let opening = 1; opening < 4; opening++) {
    const timeMs = store.nowMs()
    await store.close()
    store = await openEmbeddedStore({ path: folder.path, positionsAfter: 0 })
    expect(await store.position()).toBe(1 + opening * 2 * TASKS_PER_BATCH_MAX)
    expect(await store.trimmedTo()).toBe(0)
    expect(store.nowMs()).toBeGreaterThanOrEqual(timeMs)
    // Not the time of day: by the store's clock, hardly any time has passed.
    expect(store.nowMs()).toBeLessThan(10_000)
  }
  await store.close()
  await folder.remove()
})

test('a new store in the place of another gives none of its positions, and reports that it knows none', async () => {
  const folder = await temporaryFolder()
  const old = await openEmbeddedStore({ path: folder.path })
  await Promise.all(Array.from({ length: 100 }, () => old.commit(write)))
  const last = await old.position()
  await old.close()
  await rm(folder.path, { recursive: true })
  const store = await openEmbeddedStore({ path: folder.path })
  expect(store.log).not.toBe(old.log)
  expect(await store.position()).toBeGreaterThan(last)
  expect(await store.trimmedTo()).toBe(await store.position())
  expect(() => store.changes(last)).toThrow('Start over')
  await store.close()
  await folder.remove()
})

test('a store restored from a backup never gives a lost position again', async () => {
  const [folder, backup] = [await temporaryFolder(), await temporaryFolder()]
  const day = { today: 1_000_000, tomorrow: 2_000_000 }
  let store = await openEmbeddedStore({ path: folder.path, positionsAfter: day.today })
  await store.commit(write)
  await store.close()
  await cp(folder.path, backup.path, { recursive: true })
  store = await openEmbeddedStore({ path: folder.path, positionsAfter: day.today })
  await Promise.all(Array.from({ length: 3 * TASKS_PER_BATCH_MAX }, () => store.commit(write)))
  const lost = await store.position()
  await store.close()
  store = await openEmbeddedStore({ path: backup.path, positionsAfter: day.tomorrow })
  expect(await store.position()).toBeGreaterThan(lost)
  expect(await store.trimmedTo()).toBeGreaterThan(lost)
  await store.close()
  await Promise.all([folder.remove(), backup.remove()])
})
