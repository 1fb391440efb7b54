/** Whatever rows are hidden from a caller, the answers are the same: over MariaDB. */
import type { Store } from '@freshet/core/store'
import { openMariadbStore } from '@freshet/stores/mariadb'
import { type RunningMariadb, startMariadb } from '@freshet/stores/under-test/start-mariadb'
import { afterAll, beforeAll, test } from 'vitest'
import { testHiddenRows } from './under-test/test-hidden-rows.js'

let engine: RunningMariadb
let stores = 0
beforeAll(async () => {
  engine = await startMariadb()
})
afterAll(() => engine?.stop())

const open = (): Promise<Store> =>
  openMariadbStore({ url: engine.url, prefix: `hidden_${stores++}_`, onWarning: () => undefined })

test.each(Array.from({ length: 4 }, (_, i) => 300 + i))('MariaDB: hidden rows change no answer (seed %i)', seed =>
  testHiddenRows({ openStores: async () => [await open(), await open()], seed, requests: 50 }),
)
