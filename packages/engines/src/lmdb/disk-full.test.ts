import { join } from 'node:path'
import { afterAll, beforeAll, vi } from 'vitest'
import { testFullDisk } from '../under-test/test-full-disk.js'
import { openEmbeddedStore } from './embedded-store.js'
import { type TemporaryFolder, temporaryFolder } from './under-test/temporary-folder.js'

let folder: TemporaryFolder
beforeAll(async () => {
  // LMDB prints each refusal.
  vi.spyOn(console, 'error').mockImplementation(() => {})
  folder = await temporaryFolder()
})
afterAll(() => folder?.remove())

testFullDisk({ folder: () => folder.path, open: () => openEmbeddedStore({ path: join(folder.path, 'store') }) })
