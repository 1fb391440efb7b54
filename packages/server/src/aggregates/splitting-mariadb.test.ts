import type { Catalog } from '@freshet/core/aggregates'
import { endMariadb } from '@freshet/stores/under-test/start-mariadb'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadSqlParser, type SqlParser } from './parse-sql.js'
import { compareAnswers, type Tally } from './under-test/compare-answers.js'
import { type MariadbShards, startMariadbShards } from './under-test/mariadb-shards.js'
import { randomQueries } from './under-test/random-queries.js'

const QUERIES = Number(process.env.FRESHET_QUERIES ?? 1500)
let started: MariadbShards
let parser: SqlParser
let catalog: Catalog

beforeAll(async () => {
  started = await startMariadbShards({ innodb_flush_log_at_trx_commit: '0' })
  parser = await loadSqlParser()
  catalog = await started.shards[0]!.catalog()
})

afterAll(async () => {
  await started?.close()
  await endMariadb()
})

test('shards answer random queries as one MariaDB does, or refuse them with a reason', async () => {
  const { map, shards, whole } = started
  const tally: Tally = { asked: 0, refused: 0, reasons: new Map() }
  const setup = { parser, map, catalog, shards, whole, tally }
  await fc.assert(
    fc.asyncProperty(randomQueries(), asked => compareAnswers(setup, asked)),
    { numRuns: QUERIES },
  )
  const share = Math.round((100 * tally.refused) / tally.asked)
  console.log(`MariaDB: ${tally.asked} queries, ${tally.refused} refused (${share}%)`, [...tally.reasons])
  expect(tally.refused).toBeGreaterThan(0)
  expect(share).toBeLessThan(60)
})
