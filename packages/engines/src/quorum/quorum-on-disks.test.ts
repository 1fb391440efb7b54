/** Three folders of one server, on separate disks: one is full, then another one is gone. */
import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { expectExact, Progress, writeOn } from '../cassandra/under-test/crash-writers.js'
import { openEmbeddedStore } from '../lmdb/index.js'
import { temporaryFolder } from '../lmdb/under-test/temporary-folder.js'
import { eventually } from '../under-test/eventually.js'
import { openQuorumStore } from './open-quorum-store.js'

const mayMount = process.getuid?.() === 0 && process.platform === 'linux'
if (!mayMount)
  console.warn('Not tested: a full disk under a ring. It needs a small file system, which only root may mount.')

// Only root can mount a file system that is small enough to fill.
test.skipIf(!mayMount)(
  'a full disk does not disturb the others and catches up when it has space, and a lost disk is rebuilt',
  async () => {
    // The engine prints every refusal.
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const folder = await temporaryFolder()
    const paths = [1, 2, 3].map(i => join(folder.path, `disk-${i}`))
    execFileSync('mkdir', [paths[2]!])
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', paths[2]!])
    const warnings: string[] = []
    const open = () => {
      const nodes = paths.map((path, i) => ({
        place: `disk ${i + 1}`,
        open: () => openEmbeddedStore({ path: join(path, 'store') }),
      }))
      return openQuorumStore({ nodes, waitMsMax: 20_000, onWarning: text => warnings.push(text) })
    }
    try {
      let store = await open()
      expect(store.supports.durability).toBe('disk')
      const begin = await store.position()
      const progress = new Progress()
      const writing = [1, 2, 3, 4].map(writer => writeOn(store, writer, progress))
      const body = Buffer.alloc(200_000, 1)
      for (let i = 0; i < 40; i++) await store.commit({ writes: [{ key: `large/l/${i}`, contentType: 'x/y', body }] })
      expect(execFileSync('df', ['--output=avail', paths[2]!]).toString()).toMatch(/\n\s*\d{1,3}\s/)
      execFileSync('mount', ['-o', 'remount,size=200m', paths[2]!])
      progress.isOver = true
      const written = await Promise.all(writing)
      await store.close()
      // Now the disk that was full is one of the two that are needed.
      await rm(paths[0]!, { recursive: true })
      store = await open()
      await expectExact(store, begin, written)
      expect((await store.scan('large/l', { limit: 100 })).entries.length).toBe(40)
      await eventually('the lost one is rebuilt', () => warnings.some(text => /disk 1 has been rebuilt/.test(text)))
      await store.close()
      await rm(join(paths[1]!, 'store'), { recursive: true })
      store = await open()
      await expectExact(store, begin, written)
      await store.close()
    } finally {
      execFileSync('umount', [paths[2]!])
      await folder.remove()
    }
  },
)
