import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openEmbeddedStore } from './embedded-store.js'
import { openEnvironment } from './environment.js'
import { temporaryFolder } from './under-test/temporary-folder.js'

test('a missing folder is created, with its parents', async () => {
  const folder = await temporaryFolder()
  const path = join(folder.path, 'new', 'store.d')
  await (await openEmbeddedStore({ path })).close()
  expect(await readdir(path)).toEqual(['.place', '.reached', 'data.mdb', 'data.mdb-lock'])
  await folder.remove()
})

test('a folder with other files, or a path that is not a folder, is refused and left as it was', async () => {
  const folder = await temporaryFolder()
  await writeFile(join(folder.path, 'thesis.txt'), 'three years of work')
  await expect(openEmbeddedStore({ path: folder.path })).rejects.toMatchObject({
    code: 'STORE_UNUSABLE',
    message: expect.stringContaining('thesis.txt'),
  })
  await expect(openEmbeddedStore({ path: join(folder.path, 'thesis.txt') })).rejects.toMatchObject({
    code: 'STORE_UNUSABLE',
    message: expect.stringContaining('choose a folder'),
  })
  expect(await readdir(folder.path)).toEqual(['thesis.txt'])
  await folder.remove()
})

test('a folder that this user may not write to is refused; a writable one is not', async () => {
  const folder = await temporaryFolder()
  const [closed, open] = ['closed', 'open'].map(name => join(folder.path, name)) as [string, string]
  await Promise.all([mkdir(closed), mkdir(open)])
  await Promise.all([chmod(folder.path, 0o755), chmod(closed, 0o500), chmod(open, 0o777)])
  expect(openAsNobody(closed)).toBe('STORE_UNUSABLE')
  expect(openAsNobody(open)).toBe('opened')
  await folder.remove()
})

test('a folder that cannot be created is refused, even below one that cannot have subfolders', () => {
  for (const path of ['/proc/freshet', '/proc/freshet/store']) expect(openAsNobody(path)).toBe('STORE_UNUSABLE')
})

/** Root may write everywhere: so the program, in its own process, drops its rights once it has loaded its modules. */
function openAsNobody(path: string): string {
  const module = new URL('../../dist/lmdb/index.js', import.meta.url).href
  const program = `
    const { openEmbeddedStore } = await import(${JSON.stringify(module)})
    if (process.getuid() === 0) {
      process.setgroups([])
      process.setgid(65534)
      process.setuid(65534)
    }
    const opened = await openEmbeddedStore({ path: ${JSON.stringify(path)} }).catch(error => error.code)
    process.stdout.write(typeof opened === 'string' ? opened : 'opened')
    if (typeof opened !== 'string') await opened.close()`
  return execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    timeout: 60_000,
  })
}

test('no other account may read the folder and its files, whatever the umask and their earlier modes', async () => {
  const folder = await temporaryFolder()
  const path = join(folder.path, 'store')
  const modesOf = async () => {
    const names = (await readdir(path)).sort()
    const modes = await Promise.all(['.', ...names].map(async name => (await stat(join(path, name))).mode & 0o777))
    return Object.fromEntries(['.', ...names].map((name, i) => [name, modes[i]!.toString(8)]))
  }
  const umask = process.umask(0)
  try {
    const files = ['.place', '.reached', 'data.mdb', 'data.mdb-lock', 'writer.lock']
    const closed = { '.': '700', ...Object.fromEntries(files.map(name => [name, '600'])) }
    const store = await openEmbeddedStore({ path })
    expect(await modesOf()).toEqual(closed)
    await store.close()
    // As an earlier version left it.
    await Promise.all([
      chmod(path, 0o755),
      chmod(join(path, 'data.mdb'), 0o664),
      chmod(join(path, 'data.mdb-lock'), 0o664),
    ])
    const again = await openEmbeddedStore({ path })
    expect(await modesOf()).toEqual(closed)
    await again.close()
  } finally {
    process.umask(umask)
    await folder.remove()
  }
})

test('a file that is not a store, or was cut off, is reported as damaged', async () => {
  const folder = await temporaryFolder()
  const file = join(folder.path, 'data.mdb')
  await writeFile(file, 'this is not a store '.repeat(1000))
  await expect(openEmbeddedStore({ path: folder.path })).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
  await truncate(file, 100)
  await expect(openEmbeddedStore({ path: folder.path })).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
  expect((await readFile(file, 'utf8')).startsWith('this is not a store')).toBe(true)
  await truncate(file, 0)
  const store = await openEmbeddedStore({ path: folder.path })
  await store.commit({ writes: [{ key: 'a/b/c', contentType: 'text/plain', body: Buffer.alloc(100_000) }] })
  await store.close()
  await truncate(file, 50_000)
  await expect(openEmbeddedStore({ path: folder.path })).rejects.toMatchObject({
    code: 'STORE_DAMAGED',
    message: expect.stringContaining('cut off'),
  })
  await folder.remove()
})

test('a store of a newer format is refused, and a newer Freshet can still open it', async () => {
  const folder = await temporaryFolder()
  await (await openEmbeddedStore({ path: folder.path })).close()
  await setFormat(folder.path, 99)
  await expect(openEmbeddedStore({ path: folder.path })).rejects.toMatchObject({
    code: 'STORE_UNUSABLE',
    message: expect.stringContaining('format 99'),
  })
  await setFormat(folder.path, 1)
  await (await openEmbeddedStore({ path: folder.path })).close()
  await folder.remove()
})

test('a relaxed store opens after its process was killed, but not after its machine went down', async () => {
  const folder = await temporaryFolder()
  const module = new URL('../../dist/lmdb/index.js', import.meta.url).href
  const program = `
    const { openEmbeddedStore } = await import(${JSON.stringify(module)})
    const store = await openEmbeddedStore({ path: ${JSON.stringify(folder.path)}, durability: 'relaxed' })
    await store.commit({ writes: [{ key: 'a/b/c', contentType: 'text/plain', body: Buffer.from('x') }] })
    process.kill(process.pid, 'SIGKILL')`
  expect(() => execFileSync(process.execPath, ['--input-type=module', '-e', program])).toThrow('SIGKILL')
  const environment = await openEnvironment({ path: folder.path, mode: 'flushing', inspect: () => {} })
  const boot = environment.meta.get('relaxed')!
  await environment.transaction(() => environment.meta.put('relaxed', Buffer.from('another boot'), 1))
  await environment.close()
  await expect(openEmbeddedStore({ path: folder.path })).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
  await setMeta(folder.path, 'relaxed', boot)
  const store = await openEmbeddedStore({ path: folder.path })
  expect((await store.get('a/b/c'))?.version).toBe((await store.trimmedTo()) + 1)
  await store.close()
  await folder.remove()
})

async function setFormat(path: string, version: number): Promise<void> {
  await setMeta(path, 'format', Buffer.from(Uint32Array.of(version).buffer))
}

async function setMeta(path: string, name: string, record: Uint8Array): Promise<void> {
  const environment = await openEnvironment({ path, mode: 'flushing', inspect: () => {} })
  await environment.transaction(() => environment.meta.put(name, record, 1))
  await environment.close()
}
