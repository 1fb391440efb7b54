/** The console's page of shards, over two of them in a real MariaDB. */
import { endMariadb, startMariadb } from '@freshet/stores/under-test/start-mariadb'
import { createConnection } from 'mariadb'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeInChromium, startChromium } from './chromium.js'
import { type ConsoleServer, expectWellMade, SEEN_MS_MAX, sees, startConsoleServer, watch } from './console-scene.js'
import { endFreshetProcesses, runFreshet } from './freshet-process.js'

describeInChromium('the console of a server with shards', () => {
  let server: ConsoleServer
  let browser: Browser

  beforeAll(async () => {
    const { port, url } = await startMariadb()
    const connection = await createConnection({ host: '127.0.0.1', port, user: 'root' })
    const shards = ['one', 'two'].map((name, i) => ({ name, url: url.replace(/freshet$/, name), from: i * 10 }))
    for (const [i, { name }] of shards.entries()) {
      await connection.query(`CREATE DATABASE ${name}`)
      await connection.query(`CREATE TABLE ${name}.people (id INT PRIMARY KEY, age INT NOT NULL)`)
      await connection.query(`INSERT INTO ${name}.people VALUES (${i * 10 + 1}, 20), (${i * 10 + 2}, 30)`)
    }
    await connection.end()
    const config = { shards: { shards, sharded: { people: 'id' }, global: [], localWrites: false } }
    server = await startConsoleServer({
      config,
      prepare: async file => {
        expect(await runFreshet(['shards', 'init', '--config', file])).toMatchObject({ exitCode: 0 })
      },
    })
    browser = await startChromium()
  })

  afterAll(async () => {
    await browser?.close()
    await server?.stop()
    await endFreshetProcesses()
    await endMariadb()
  })

  test('says how far each is, asks all of them, is accessible and fits a phone', async () => {
    const { open, complaints, close } = await watch(browser, server.url)
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
