import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { openEmbeddedStore } from './embedded-store.js'
import { temporaryFolder } from './under-test/temporary-folder.js'

const mayMount = process.getuid?.() === 0 && process.platform === 'linux'
if (!mayMount) console.warn('Not tested: a full disk. It needs a small file system, which only root may mount.')

// Only root can mount a file system that is small enough to fill.
test.skipIf(!mayMount)('a full disk refuses commits, keeps the rest, and recovers when there is space', async () => {
  // LMDB prints each refusal.
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const folder = await temporaryFolder()
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', folder.path])
  try {
    const path = join(folder.path, 'store')
    let store = await openEmbeddedStore({ path })
    const commit = (id: string, size: number) =>
      store.commit({
        writes: [1, 2].map(n => ({ key: `a/b/${id}-${n}`, contentType: 'x/y', body: Buffer.alloc(size, id) })),
      })
    const kept: string[] = []
    const refused: unknown[] = []
    for (let round = 0; refused.length < 40; round++) {
      const ids = Array.from({ length: 8 }, (_, i) => `${round}.${i}`)
      const results = await Promise.allSettled(ids.map((id, i) => commit(id, i === 3 ? 100_000 : 5000)))
      for (const [i, result] of results.entries()) {
        if (result.status === 'fulfilled') kept.push(ids[i]!)
        else refused.push(result.reason)
      }
    }
    expect(refused.every(error => (error as { code?: string }).code === 'STORE_FULL')).toBe(true)
    const check = async () => {
      const { entries } = await store.scan('a/b', { limit: 10_000 })
      expect(entries.map(({ id }) => id)).toEqual(kept.flatMap(id => [`${id}-1`, `${id}-2`]).sort())
      expect((await store.changes(await store.trimmedTo(), 10_000)).length).toBe(kept.length)
    }
    await check()
    execFileSync('mount', ['-o', 'remount,size=64m', folder.path])
    await commit('after', 100_000)
    kept.push('after')
    await check()
    await store.close()
    store = await openEmbeddedStore({ path })
    await check()
    await store.close()
  } finally {
    execFileSync('umount', [folder.path])
    await folder.remove()
  }
})
