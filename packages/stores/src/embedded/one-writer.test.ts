/** One writer at a time: who is told what, and what keeps the data safe if somebody does not listen. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openEmbeddedStore } from './embedded-store.js'
import { startProcess } from './under-test/start-process.js'
import { temporaryFolder } from './under-test/temporary-folder.js'
import { LOCK_FILE } from './writer-lock.js'

const writerProcess = new URL('./under-test/writer-process.js', import.meta.url)
const isOpen = (message: unknown): message is 'open' => message === 'open'
const write = { writes: [{ key: 'a/b/c', contentType: 'text/plain', body: Buffer.from('x') }] }

test('a second server is told which process has the store open, and what to do', async () => {
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

test('a process cannot open a store that it has open already, and can once it has closed it', async () => {
  const folder = await temporaryFolder()
  const store = await openEmbeddedStore({ path: folder.path })
  await expect(openEmbeddedStore({ path: folder.path })).rejects.toMatchObject({ code: 'STORE_LOCKED' })
  await store.close()
  await (await openEmbeddedStore({ path: folder.path })).close()
  await folder.remove()
})

test('a lock whose process was killed is taken over without a word', async () => {
  const folder = await temporaryFolder()
  const writer = startProcess(writerProcess, [folder.path])
  await writer.message(isOpen)
  await writer.kill()
  await (await openEmbeddedStore({ path: folder.path })).close()
  await folder.remove()
})

test('a lock is stale if its number now belongs to another process, or if it is of an earlier boot', async () => {
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

test('a writer that was taken over writes nothing more, and leaves the lock of the other alone', async () => {
  const folder = await temporaryFolder()
  const file = join(folder.path, LOCK_FILE)
  const store = await openEmbeddedStore({ path: folder.path })
  await store.commit(write)
  const failures: unknown[] = []
  store.observe({ onDurable: () => {}, onFailed: error => failures.push(error) })
  // Somebody did not believe the lock.
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
  expect((await again.changes(0)).length).toBe(1)
  await again.close()
  await folder.remove()
})

test('each opening skips positions, and goes on from the clock', async () => {
  const folder = await temporaryFolder()
  let store = await openEmbeddedStore({ path: folder.path })
  expect(await store.position()).toBe(0)
  await store.commit(write)
  for (let opening = 1; opening < 4; opening++) {
    const timeMs = store.nowMs()
    await store.close()
    store = await openEmbeddedStore({ path: folder.path })
    expect(await store.position()).toBe(1 + opening * 2 ** 20)
    expect(store.nowMs()).toBeGreaterThanOrEqual(timeMs)
    // Not by the time of day: hardly any time has passed by this one.
    expect(store.nowMs()).toBeLessThan(10_000)
  }
  await store.close()
  await folder.remove()
})
