/** The console while its token expires. */
import { signToken } from '@freshet/server'
import { expect, test } from 'vitest'
import { describeInChromium } from './chromium.js'
import { SEEN_MS_MAX, sees, watch } from './console-scene.js'
import { serveConsole } from './use-console.js'

/** More than a browser's connections to one host. */
const REFUSALS = 8
/** By then, an open page has everything that it shows. */
const EXPIRES_MS = 10_000

describeInChromium('the console when its token expires', () => {
  const secret = 'a secret of at least thirty-two bytes'
  const tokenFor = (expiresMs: number) =>
    signToken({ secret, claims: { sub: 'root', role: 'admin' }, audience: 'freshet', expiresMs })
  const served = serveConsole({ rules: 'admin if claim.role == "admin"\n', secret })

  test('holds no connection open, and continues with the next token', async () => {
    const { context } = await watch(served.browser, served.server.url)
    const page = await context.newPage()
    const open = new Set<unknown>()
    let refusals = 0
    page.on('request', sent => sent.url().includes('/coherence/events') && open.add(sent))
    page.on('requestfinished', sent => open.delete(sent))
    page.on('requestfailed', sent => open.delete(sent))
    page.on('response', answer => {
      if (answer.url().endsWith('/metrics') && answer.status() === 401) refusals++
    })
    const dialog = page.getByRole('dialog')
    const use = async (token: string) => {
      await dialog.getByLabel('Token').fill(token)
      await dialog.getByRole('button', { name: 'Use it' }).click()
    }
    await page.goto(`${served.server.url}/console`)
    await dialog.waitFor()
    // Only now, because it expires soon.
    await use(await tokenFor(EXPIRES_MS))
    await sees(page, 'Requests a second')
    await expect.poll(() => open.size, { timeout: SEEN_MS_MAX }).toBe(1)
    refusals = 0
    await expect.poll(() => refusals, { timeout: 3 * SEEN_MS_MAX }).toBeGreaterThanOrEqual(REFUSALS)
    expect(open.size).toBe(0)
    await use(await tokenFor(600_000))
    await sees(page, 'Requests a second')
    await expect.poll(() => open.size, { timeout: SEEN_MS_MAX }).toBe(1)
    await context.close()
  })
})
