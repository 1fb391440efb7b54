/** A store on a full disk: it refuses commits, keeps the rest, and recovers when there is space. */
import { execFileSync } from 'node:child_process'
import type { Store } from '@freshet/core/store'
import { expect, test } from 'vitest'

const REFUSED_MIN = 40
const mayMount = process.getuid?.() === 0 && process.platform === 'linux'

export interface FullDiskOptions {
  /** An empty folder, which becomes the mount point of a small file system. */
  readonly folder: () => string
  /** Opens the store in that folder. */
  readonly open: () => Promise<Store>
  /** Of `umount`: the folder is added. */
  readonly unmountArguments?: readonly string[]
}

/** Only root can mount a file system that is small enough to fill. Others skip the test, and read why. */
export function testFullDisk({ folder, open, unmountArguments = [] }: FullDiskOptions): void {
  if (!mayMount) console.warn('Not tested: a full disk. It needs a small file system, which only root may mount.')
  test.skipIf(!mayMount)('a full disk refuses commits, keeps the rest, and recovers when there is space', async () => {
    const place = folder()
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', place])
    try {
      let store = await open()
      const { kept, refused } = await fill(store)
      expect(refused.filter(code => code !== 'STORE_FULL')).toEqual([])
      await expectKept(store, kept)
      execFileSync('mount', ['-o', 'remount,size=64m', place])
      await commit(store, 'after', 100_000)
      kept.push('after')
      await expectKept(store, kept)
      await store.close()
      store = await open()
      await expectKept(store, kept)
      await store.close()
    } finally {
      execFileSync('umount', [...unmountArguments, place])
    }
  })
}

/** Commits until enough commits were refused. */
async function fill(store: Store): Promise<{ readonly kept: string[]; readonly refused: readonly string[] }> {
  const kept: string[] = []
  const refused: string[] = []
  for (let round = 0; refused.length < REFUSED_MIN; round++) {
    const ids = Array.from({ length: 8 }, (_, i) => `${round}.${i}`)
    const results = await Promise.allSettled(ids.map((id, i) => commit(store, id, i === 3 ? 100_000 : 5000)))
    for (const [i, result] of results.entries()) {
      if (result.status === 'fulfilled') kept.push(ids[i]!)
      else refused.push((result.reason as { readonly code?: string }).code ?? String(result.reason))
    }
  }
  return { kept, refused }
}

async function commit(store: Store, id: string, size: number): Promise<void> {
  await store.commit({
    writes: [1, 2].map(n => ({ key: `a/b/${id}-${n}`, contentType: 'x/y', body: Buffer.alloc(size, id) })),
  })
}

/** Each kept commit is there as a whole and in the log, and no part of another. */
async function expectKept(store: Store, kept: readonly string[]): Promise<void> {
  const { entries } = await store.scan('a/b', { limit: 10_000 })
  expect(entries.map(({ id }) => id)).toEqual(kept.flatMap(id => [`${id}-1`, `${id}-2`]).sort())
  expect((await store.changes(await store.trimmedTo(), 10_000)).length).toBe(kept.length)
}
