import type { Catalog, Shard } from '@freshet/core/aggregates'
import { openShard } from '@freshet/stores/shards'
import { endMariadb, type RunningMariadb, startMariadb } from '@freshet/stores/under-test/start-mariadb'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadSqlParser, type SqlParser } from './parse-sql.js'
import { compareAnswers, type Tally } from './under-test/compare-answers.js'
import { randomQueries } from './under-test/random-queries.js'
import { fill, mapOf, sampleRows } from './under-test/sharded-data.js'

const QUERIES = Number(process.env.FRESHET_QUERIES ?? 1500)
const map = mapOf('mariadb', { kind: 'ranges', from: [0, 20, 40] })
let engine: RunningMariadb
let parser: SqlParser
let catalog: Catalog
let shards: readonly Shard[]
let whole: Shard

beforeAll(async () => {
  engine = await startMariadb({ settings: { innodb_flush_log_at_trx_commit: '0', character_set_server: 'utf8mb4' } })
  parser = await loadSqlParser()
  const { createConnection } = await import('mariadb')
  const connection = await createConnection({ host: '127.0.0.1', port: engine.port, user: 'root' })
  const urlOf = (name: string) => engine.url.replace(/\/freshet$/, `/${name}`)
  const nameOf = (shard: number | 'whole') => (shard === 'whole' ? shard : `shard_${shard}`)
  for (const name of ['whole', ...map.shards.map((_, i) => nameOf(i))])
    await connection.query(`CREATE DATABASE ${name}`)
  await fill(
    async (shard, text) => {
      await connection.query(`USE ${nameOf(shard)}`)
      await connection.query(text)
    },
    map,
    sampleRows(7, false),
  )
  await connection.end()
  shards = map.shards.map((name, i) => openShard({ name, url: urlOf(nameOf(i)) }))
  whole = openShard({ name: 'whole', url: urlOf('whole') })
  for (const shard of [...shards, whole]) await shard.init()
  catalog = await shards[0]!.catalog()
})

afterAll(async () => {
  await Promise.all([...(shards ?? []), ...(whole ? [whole] : [])].map(shard => shard.close()))
  await endMariadb()
})

test('shards answer random queries as one MariaDB does, or refuse them with a reason', async () => {
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
