/** The console's pages of nodes: a ring of three Redis servers, some killed and emptied; and a Redis with a replica. */
import { cpSync } from 'node:fs'
import { openRedisStore } from '@freshet/engines/redis'
import { DURABLE, type RunningRedis, startRedis } from '@freshet/engines/under-test/redis'
import type { Page } from 'playwright-core'
import { afterEach, expect, test } from 'vitest'
import { describeInChromium, useChromium } from './chromium.js'
import {
  type ConsoleServer,
  expectWellMade,
  photograph,
  SEEN_MS_MAX,
  sees,
  startConsoleServer,
  watch,
} from './console-scene.js'
import { endFreshetProcesses } from './freshet-process.js'

describeInChromium('the console of a server over several Redis servers', () => {
  const engines: RunningRedis[] = []
  let server: ConsoleServer
  const chromium = useChromium()

  afterEach(async () => {
    await server?.stop()
    await endFreshetProcesses()
    for (const engine of engines.splice(0)) await engine.stop()
  })

  async function start(settings: Readonly<Record<string, string>> = DURABLE): Promise<RunningRedis> {
    const engine = await startRedis({ settings })
    engines.push(engine)
    return engine
  }

  const stateOf = (page: Page, { url }: RunningRedis) => page.locator('main li', { hasText: url }).textContent()
  const eventually = (page: Page, node: RunningRedis) =>
    expect.poll(() => stateOf(page, node), { timeout: SEEN_MS_MAX })

  test('shows which nodes of a ring are well, how far each is, and which has lost its memory', async () => {
    const nodes = [await start(), await start(), await start()]
    const [first, second, third] = nodes as [RunningRedis, RunningRedis, RunningRedis]
    server = await startConsoleServer({ flags: ['--store', `ring:${nodes.map(({ url }) => url).join(',')}`] })
    await server.put('/db/shop/products/tea', { price: 1 })
    const { open, close, complaints } = await watch(chromium.browser, server.url)
    const page = await open('#/ring')
    await sees(page, '3 of 3 nodes vote, 2 are needed: the ring can lose 1.')
    for (const node of nodes) await eventually(page, node).toMatch(/well.*up to date.*on disk/)
    expect(await page.locator('nav a[aria-current]').textContent()).toBe('Ring')
    await first.kill()
    await sees(page, '2 of 3 nodes vote, 2 are needed: the ring can lose no more.')
    for (let i = 0; i < 5; i++) await server.put('/db/shop/products/tea', { price: i })
    await eventually(page, first).toMatch(/does not answer.*[1-9]\d* records behind/)
    await eventually(page, second).toMatch(/well.*up to date/)
    // The page does not repeat that the node still does not answer.
    expect(await stateOf(page, first)).not.toMatch(/does not answer.*does not answer/)
    await page.setViewportSize({ width: 1280, height: 480 })
    await photograph(page, 'ring')
    await expectWellMade(page, 'ring')
    await first.restart()
    await eventually(page, first).toMatch(/well.*up to date/)
    // An empty node would be rebuilt at once, so it comes back with data that another store may miss.
    const other = await start()
    const store = await openRedisStore({ url: other.url, onWarning: () => undefined })
    await store.commit({ writes: [{ key: 'other/things/1', contentType: 'text/plain', body: Buffer.from('mine') }] })
    await store.close()
    await other.kill()
    await third.kill()
    await third.empty()
    cpSync(other.folder, third.folder, { recursive: true })
    await third.restart()
    await eventually(page, third).toMatch(/has lost its data/)
    await second.kill()
    await sees(page, /1 of 3 nodes vote, 2 are needed: nothing is read or written/)
    await page.reload()
    await sees(page, /1 of 3 nodes vote/)
    await close()
    expect(complaints.filter(text => !/503|Failed to load/.test(text))).toEqual([])
  })

  test('with replicas, shows which node answers, and which is left alone', async () => {
    const primary = await start()
    const replica = await start({ ...DURABLE, replicaof: `127.0.0.1 ${primary.port}` })
    const store = `${primary.url}?replicas=127.0.0.1:${replica.port}`
    server = await startConsoleServer({ flags: ['--store', store] })
    await server.put('/db/shop/products/tea', { price: 1 })
    const { open, close, complaints } = await watch(chromium.browser, server.url)
    const page = await open('#/replicas')
    const row = page.locator('main li', { hasText: `${replica.port}` })
    await expect.poll(() => row.textContent(), { timeout: SEEN_MS_MAX }).toContain('is read from')
    const readAndLook = async () => {
      for (let i = 0; i < 20; i++) await fetch(`${server.url}/db/shop/products/absent-${i}`)
      return row.textContent()
    }
    await expect.poll(readAndLook).toMatch(/is read from.*[1-9]\d* reads \(\d+ %\)/)
    await expectWellMade(page, 'replicas')
    await replica.kill()
    await expect.poll(() => row.textContent(), { timeout: SEEN_MS_MAX }).toContain('is left alone')
    await close()
    expect(complaints).toEqual([])
  })
})
