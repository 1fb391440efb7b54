/** Rows restored while no server ran: a server remembers how far the log was, and starts a new log. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { type RunningPostgres, startPostgres } from '@freshet/engines/under-test/start-postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFreshet } from './freshet-process.js'
import { useFolder } from './test-folder.js'

const TABLES = ['head', 'objects', 'buckets', 'log', 'skipped']

let postgres: RunningPostgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres?.stop())
const folder = useFolder('put-back')

const sql = (text: string) =>
  execFileSync('psql', [
    ...['-h', '127.0.0.1', '-p', `${postgres.port}`, '-U', postgres.user, '-d', 'postgres'],
    ...['-q', '-v', 'ON_ERROR_STOP=1', '-c', text],
  ])
const start = (data: string) =>
  startFreshet(['serve', '--store', postgres.url, '--workers', '1', '--data', join(folder(), data)])
const logOf = async (url: string) => ((await (await fetch(`${url}/coherence`)).json()) as { log: string }).log

test('a server with the same folder notices; a restart without a restore changes nothing', async () => {
  const first = await start('data')
  const log = await logOf(first.url)
  const put = (price: number) =>
    fetch(`${first.url}/db/shop/products/tea`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ price }),
    })
  await put(1)
  for (const table of TABLES) sql(`\\copy freshet.${table} TO '${join(folder(), table)}'`)
  for (const price of [2, 3, 4, 5]) expect((await put(price)).ok).toBe(true)
  await first.stop()
  const second = await start('data')
  expect(await logOf(second.url)).toBe(log)
  await second.stop()
  for (const table of TABLES) {
    sql(`DELETE FROM freshet.${table}`)
    sql(`\\copy freshet.${table} FROM '${join(folder(), table)}'`)
  }
  const third = await start('data')
  expect(await logOf(third.url)).not.toBe(log)
  expect(await (await fetch(`${third.url}/db/shop/products/tea`)).json()).toEqual({ price: 1 })
  await third.stop()
})
