/**
 * Values of PostgreSQL that JSON and text order do not support: NaN, Infinity, dates beyond the year 9999, BC, infinite dates.
 */

import { createMemoryStore } from '@freshet/engines/memory'
import type { SqlAnswer } from '@freshet/protocol'
import { jsonRequest, type RunningServer, startServer } from '@freshet/server/testing/running-server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { usePostgresShards } from '../under-test/use-shards.js'
import { joinShards } from './sql-routes.js'

const ROWS = [
  "(1, 'NaN', '10000-01-01', '10000-01-01 00:00:00')",
  "(21, 'Infinity', '9999-12-31', '9999-12-31 23:59:59')",
  "(41, '-Infinity', '0044-03-15 BC', '0044-03-15 12:00:00 BC')",
  "(2, 1.5, 'infinity', 'infinity')",
  "(22, -2, '-infinity', '-infinity')",
  "(42, 'NaN', '0100-01-01 BC', '0100-01-01 00:00:00 BC')",
  "(3, NULL, '294275-12-31', '294275-12-31 00:00:00.5')",
]

const started = usePostgresShards()
let server: RunningServer

beforeAll(async () => {
  for (const [i, name] of [...started().map.shards, 'whole'].entries()) {
    const here = ROWS.filter(row => name === 'whole' || Math.floor(Number(/\d+/.exec(row)![0]) / 20) === i)
    const table = 'CREATE TABLE odd (id INT PRIMARY KEY, f DOUBLE PRECISION, d DATE, t TIMESTAMP)'
    await started().databases.run(name, `${table}; INSERT INTO odd VALUES ${here.join(', ')}`)
  }
  const map = { ...started().map, sharded: { ...started().map.sharded, odd: 'id' } }
  const database = { map, ...started().openAgain(), hasLocalWrites: true }
  server = await startServer({ store: createMemoryStore(), capabilities: [joinShards(database)] })
})

afterAll(async () => {
  await server?.stop()
})

async function ask(q: string): Promise<SqlAnswer['rows']> {
  const answer = await server.fetch('/sql', jsonRequest('POST', { q }))
  if (!answer.ok) throw new Error(await answer.text())
  return ((await answer.json()) as SqlAnswer).rows
}

test('NaN and Infinity are sent as text, and null as null', async () => {
  const rows = await ask('select id, f from odd order by id')
  expect(rows.map(row => row[1])).toEqual([...['NaN', 1.5, null, 'Infinity', -2, '-Infinity', 'NaN']])
  expect(await ask('select max(f) as high, min(f) as low from odd')).toEqual([['NaN', '-Infinity']])
})

test.each(['f', 'd', 't'])('%s is ordered, and its largest and smallest are found, as in one server', async column => {
  for (const q of [
    `select id from odd order by ${column}, id`,
    `select id from odd order by ${column} desc, id limit 4`,
    `select count(*) as n from odd having max(${column}) > min(${column})`,
    `select count(*) as n from odd having max(${column}) = max(${column})`,
  ]) {
    const { rows } = await started().whole.read({ statement: { text: q, values: [] }, tables: [], timeoutMs: 20_000 })
    expect(await ask(q), q).toEqual(rows.map(row => row.map(Number)))
  }
  for (const name of ['min', 'max']) {
    const q = `select ${name}(${column}) as v from odd`
    const { rows } = await started().whole.read({ statement: { text: q, values: [] }, tables: [], timeoutMs: 20_000 })
    expect((await ask(q)).map(String)).toEqual(rows.map(String))
  }
})
