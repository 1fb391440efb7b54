/** The console's page of shards, over two shards in a real MariaDB. */
import { endMariadb, startMariadb } from '@freshet/engines/under-test/start-mariadb'
import { createConnection } from 'mariadb'
import { afterAll, expect, test } from 'vitest'
import { describeInChromium } from './chromium.js'
import { expectWellMade, SEEN_MS_MAX, sees, watch } from './console-scene.js'
import { runFreshet } from './freshet-process.js'
import { createShards } from './sharded-mariadb.js'
import { serveConsole } from './use-console.js'

describeInChromium('the console of a server with shards', () => {
  const served = serveConsole(async () => {
    const { port, url } = await startMariadb()
    const connection = await createConnection({ host: '127.0.0.1', port, user: 'root' })
    const tables = (place: number) => [
      'CREATE TABLE people (id INT PRIMARY KEY, age INT NOT NULL)',
      `INSERT INTO people VALUES (${place * 10 + 1}, 20), (${place * 10 + 2}, 30)`,
    ]
    const shards = await createShards(connection, url, { from: { one: 0, two: 10 }, tables })
    await connection.end()
    return {
      config: { shards: { shards, sharded: { people: 'id' }, global: [], localWrites: false } },
      prepare: async file => {
        expect(await runFreshet(['shards', 'init', '--config', file])).toMatchObject({ exitCode: 0 })
      },
    }
  })

  afterAll(endMariadb)

  test('shows the position of each shard, queries all of them, is accessible and fits a phone', async () => {
    const { open, complaints, close } = await watch(served.browser, served.server.url)
    const page = await open('#/shards')
    await expect.poll(() => page.locator('h1').textContent(), { timeout: SEEN_MS_MAX }).toBe('Shards')
    await expect.poll(() => page.getByText('up to date').count(), { timeout: SEEN_MS_MAX }).toBe(2)
    await page.getByLabel('SELECT').fill('SELECT count(*) AS n, avg(age) AS mean FROM people')
    await page.getByRole('button', { name: 'Run' }).click()
    await sees(page, '25.0000')
    await page.getByRole('button', { name: 'Explain' }).click()
    await sees(page, /"way": "groups"/)
    await expectWellMade(page, 'shards')
    expect(complaints).toEqual([])
    await close()
  })
})
