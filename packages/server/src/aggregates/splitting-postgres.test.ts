import type { Catalog, Shard } from '@freshet/core/aggregates'
import { openShard } from '@freshet/stores/shards'
import { endPostgres, startPostgres } from '@freshet/stores/under-test/start-postgres'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadSqlParser, type SqlParser } from './parse-sql.js'
import { compareAnswers, type Tally } from './under-test/compare-answers.js'
import { randomQueries } from './under-test/random-queries.js'
import { fill, mapOf, sampleRows } from './under-test/sharded-data.js'

const QUERIES = Number(process.env.FRESHET_QUERIES ?? 1500)
/** Any will do, as long as rows are put where it says. */
const map = mapOf('postgres', { kind: 'hash', hashOf: key => (Math.abs(key) * 7919) % 1009 })
let parser: SqlParser
let catalog: Catalog
let shards: readonly Shard[]
let whole: Shard

beforeAll(async () => {
  const engine = await startPostgres({ settings: { fsync: 'off' } })
  parser = await loadSqlParser()
  const urlOf = (name: string) => engine.url.replace(/\/postgres$/, `/${name}`)
  const nameOf = (shard: number | 'whole') => (shard === 'whole' ? shard : `shard_${shard}`)
  const admin = new pg.Client({ connectionString: engine.url })
  await admin.connect()
  const clients = new Map<string, pg.Client>()
  for (const name of ['whole', ...map.shards.map((_, i) => nameOf(i))]) {
    await admin.query(`CREATE DATABASE ${name} TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'`)
    const client = new pg.Client({ connectionString: urlOf(name) })
    await client.connect()
    clients.set(name, client)
  }
  await fill((shard, text) => clients.get(nameOf(shard))!.query(text), map, sampleRows(11, true))
  for (const client of [admin, ...clients.values()]) await client.end()
  shards = map.shards.map((name, i) => openShard({ name, url: urlOf(nameOf(i)) }))
  whole = openShard({ name: 'whole', url: urlOf('whole') })
  for (const shard of [...shards, whole]) await shard.init()
  catalog = await shards[0]!.catalog()
})

afterAll(async () => {
  await Promise.all([...(shards ?? []), ...(whole ? [whole] : [])].map(shard => shard.close()))
  await endPostgres()
})

test('shards answer random queries as one PostgreSQL does, or refuse them with a reason', async () => {
  const tally: Tally = { asked: 0, refused: 0, reasons: new Map() }
  const setup = { parser, map, catalog, shards, whole, tally }
  await fc.assert(
    fc.asyncProperty(randomQueries(), asked => compareAnswers(setup, asked)),
    { numRuns: QUERIES },
  )
  const share = Math.round((100 * tally.refused) / tally.asked)
  console.log(`PostgreSQL: ${tally.asked} queries, ${tally.refused} refused (${share}%)`, [...tally.reasons])
  expect(tally.refused).toBeGreaterThan(0)
  expect(share).toBeLessThan(60)
})
