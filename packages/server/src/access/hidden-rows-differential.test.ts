/** Whatever rows are hidden from a caller, the answers are the same: over memory and over an embedded store. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '@freshet/core/store'
import { openEmbeddedStore } from '@freshet/engines/lmdb'
import { createMemoryStore } from '@freshet/engines/memory'
import { afterAll } from 'vitest'
import { testHiddenRows } from './under-test/test-hidden-rows.js'

const folder = mkdtempSync(join(tmpdir(), 'freshet-hidden-'))
afterAll(() => rmSync(folder, { recursive: true }))

const FIRST = 1_000_000_000
let folders = 0
const openMemory = async (): Promise<Store> => createMemoryStore({ positionsAfter: FIRST })
const openEmbedded = (): Promise<Store> =>
  openEmbeddedStore({ path: join(folder, `${folders++}`), durability: 'relaxed', positionsAfter: FIRST })

testHiddenRows('memory', openMemory, { seedFirst: 0, seeds: 30, requests: 40 })
testHiddenRows('embedded', openEmbedded, { seedFirst: 100, seeds: 8, requests: 40 })
