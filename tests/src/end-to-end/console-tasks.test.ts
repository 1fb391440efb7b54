/** The console's page of tasks: a stuck migration is cancelled there, or resumed once the cause is fixed. */
import type { Task } from '@freshet/client'
import type { Page } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'
import { describeInChromium } from './chromium.js'
import { expectWellMade, SEEN_MS_MAX, watch } from './console-scene.js'
import { serveConsole } from './use-console.js'

describeInChromium('a migration that got stuck', () => {
  const schema = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }
  const served = serveConsole()
  let page: Page

  beforeEach(async () => {
    page = await (await watch(served.browser, served.server.url)).open('#/tasks')
  })

  /** A migration that renames a field, and cannot convert one object. */
  async function getStuck(bucket: string): Promise<void> {
    for (let i = 0; i < 9; i++) await served.server.put(`/db/shop/${bucket}/${i}`, { title: i === 5 ? 7 : `t${i}` })
    const migration = { name: `names-of-${bucket}`, steps: [{ rename: '/title', to: '/name' }] }
    expect((await served.server.put(`/db/shop/${bucket}`, { kind: 'object', schema, migration })).ok).toBe(true)
    await expect.poll(() => rowOf(bucket).textContent(), { timeout: SEEN_MS_MAX }).toContain('failed')
  }

  const rowOf = (bucket: string) => page.locator('.task', { hasText: `names-of-${bucket}` })
  /** Resolves when the server runs it again. */
  async function resume(bucket: string): Promise<void> {
    const answered = page.waitForResponse(answer => answer.url().includes('/tasks/') && answer.ok())
    await rowOf(bucket).getByRole('button', { name: 'Resume' }).click()
    await answered
  }

  const stateOf = async (bucket: string) => {
    const { tasks } = (await (await fetch(`${served.server.url}/tasks`)).json()) as { tasks: Task[] }
    return tasks.find(({ name }) => name === `names-of-${bucket}`)?.state
  }

  const settingsOf = async (bucket: string) => (await fetch(`${served.server.url}/db/shop/${bucket}?settings`)).json()

  test('is resumed once the object that did not fit is corrected', async () => {
    await getStuck('books')
    expect(await rowOf('books').textContent()).toContain('/db/shop/books/5')
    await expectWellMade(page, 'tasks')
    await resume('books')
    // Polls again: until then the page may show the earlier failure.
    await expect.poll(() => stateOf('books')).toBe('failed')
    await served.server.put('/db/shop/books/5', { name: 'seven' })
    await resume('books')
    await expect.poll(() => rowOf('books').textContent(), { timeout: SEEN_MS_MAX }).toMatch(/done.*8 changed/)
    expect(await rowOf('books').getByRole('button').count()).toBe(0)
    expect(await settingsOf('books')).toMatchObject({ schema })
  })

  test('is cancelled, and the bucket is free for another', async () => {
    await getStuck('films')
    expect((await served.server.put('/db/shop/films', { kind: 'object' })).status).toBe(409)
    await rowOf('films').getByRole('button', { name: 'Cancel' }).click()
    await expect.poll(() => rowOf('films').textContent(), { timeout: SEEN_MS_MAX }).toContain('cancelled')
    expect(await rowOf('films').getByRole('button').count()).toBe(0)
    expect((await served.server.put('/db/shop/films', { kind: 'object' })).ok).toBe(true)
  })
})
