/** Whatever rows are hidden from a caller, the answers are the same: over PostgreSQL. */
import type { Store } from '@freshet/core/store'
import { openPostgresStore } from '@freshet/stores/postgres'
import { type RunningPostgres, startPostgres } from '@freshet/stores/under-test/start-postgres'
import { afterAll, beforeAll, test } from 'vitest'
import { testHiddenRows } from './under-test/test-hidden-rows.js'

let engine: RunningPostgres
let schemas = 0
beforeAll(async () => {
  engine = await startPostgres()
})
afterAll(() => engine?.stop())

const open = (): Promise<Store> =>
  openPostgresStore({ url: engine.url, schema: `hidden_${schemas++}`, onWarning: () => undefined })

test.each(Array.from({ length: 4 }, (_, i) => 200 + i))('PostgreSQL: hidden rows change no answer (seed %i)', seed =>
  testHiddenRows({ openStores: async () => [await open(), await open()], seed, requests: 50 }),
)
