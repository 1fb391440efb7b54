/** Whatever rows are hidden from a caller, the answers are the same: over memory and over an embedded store. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '@freshet/core/store'
import { openEmbeddedStore } from '@freshet/stores/embedded'
import { createMemoryStore } from '@freshet/stores/memory'
import { afterAll, test } from 'vitest'
import { testHiddenRows } from './under-test/test-hidden-rows.js'

const folder = mkdtempSync(join(tmpdir(), 'freshet-hidden-'))
afterAll(() => rmSync(folder, { recursive: true }))

const FIRST = 1_000_000_000
let folders = 0
const openMemory = async (): Promise<Store> => createMemoryStore({ positionsAfter: FIRST })
const openEmbedded = (): Promise<Store> =>
  openEmbeddedStore({ path: join(folder, `${folders++}`), durability: 'relaxed', positionsAfter: FIRST })

test.each(Array.from({ length: 30 }, (_, i) => i))('memory: hidden rows change no answer (seed %i)', seed =>
  testHiddenRows({ openStores: async () => [await openMemory(), await openMemory()], seed, requests: 40 }),
)

test.each(Array.from({ length: 8 }, (_, i) => 100 + i))('embedded: hidden rows change no answer (seed %i)', seed =>
  testHiddenRows({ openStores: async () => [await openEmbedded(), await openEmbedded()], seed, requests: 40 }),
)
