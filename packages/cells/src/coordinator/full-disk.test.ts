/** One node of three whose disk is full. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { openEmbeddedStore } from '@freshet/engines/lmdb'
import { temporaryFolder } from '@freshet/engines/under-test/temporary-folder'
import { expect, test, vi } from 'vitest'
import { cellsStatus, openCells, repair } from '../index.js'

const mayMount = process.getuid?.() === 0 && process.platform === 'linux'
if (!mayMount)
  console.warn('Not tested: a node with a full disk. The test needs a small file system, which only root may mount.')

const SIZE_BYTES = 40_000
const VALUES = 120
/** Long time-outs: a node with a busy disk must not be taken for one that is away. */
const health = { timeoutMsMin: 20_000, timeoutMsMax: 20_000, failuresMax: 3, probeMs: 200, probeMsMax: 200 }

// Only root can mount a file system that is small enough to fill.
test.skipIf(!mayMount)(
  'writes continue on the other two nodes, and a repair gives the full node all of them once it has space',
  async () => {
    // The engine prints every refusal.
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const folder = await temporaryFolder()
    const small = join(folder.path, 'small')
    execFileSync('mkdir', [small])
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', small])
    try {
      const paths = [join(small, 'store'), join(folder.path, 'b'), join(folder.path, 'c')]
      const stores = await Promise.all(paths.map(path => openEmbeddedStore({ path })))
      const nodes = stores.map((node, i) => ({ name: `n${i}`, node }))
      const cells = await openCells({ nodes, hintsEveryMs: 0, hintsMax: 5, health })
      const body = (i: number) => Buffer.alloc(SIZE_BYTES, `${i} `)
      for (let i = 0; i < VALUES; i++) await cells.write(`a/b/${i}`, { contentType: 'x/y', body: body(i) }, 'QUORUM')
      await cells.quiet()
      await expect(cells.write('a/b/0', { contentType: 'x/y', body: body(0) }, 'ALL')).rejects.toMatchObject({
        ...{ code: 'RING_UNAVAILABLE', details: { outcome: 'unknown' } },
      })
      for (let i = 0; i < VALUES; i++) {
        const { value, isCurrent } = await cells.read(`a/b/${i}`, 'CURRENT')
        expect(isCurrent).toBe(true)
        expect(Buffer.compare(value!.body, body(i))).toBe(0)
      }
      execFileSync('mount', ['-o', 'remount,size=64m', small])
      await vi.waitFor(() => repair(cells), { timeout: 30_000, interval: 200 })
      const { nodes: states } = await cellsStatus(cells, { lag: true })
      expect(states.map(({ behind, keys }) => [behind, keys])).toEqual(nodes.map(() => [0, VALUES]))
      await cells.close()
    } finally {
      execFileSync('umount', [small])
      await folder.remove()
    }
  },
)
