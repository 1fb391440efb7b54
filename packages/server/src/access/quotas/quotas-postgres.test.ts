/**
 * A quota over a real engine that two servers share: exact although both fill it at once, and although something was stored
 * before.
 */
import { openPostgresStore } from '@freshet/engines/postgres'
import { startPostgres } from '@freshet/engines/under-test/start-postgres'
import { expect, test } from 'vitest'
import { runningEngine } from '../../testing/running-engine.js'
import { jsonRequest, type RunningServer, startServer, until } from '../../testing/running-server.js'
import { applyRules } from '../apply-rules.js'
import { TOKENS } from '../under-test/bearer.js'

const OPEN = 'bucket */*\n  read, list, write\n'
const MAX = 40

const engine = runningEngine(startPostgres)

test('a quota of forty objects admits exactly forty', async () => {
  const stores = await Promise.all(
    [1, 2, 3].map(() => openPostgresStore({ url: engine().url, onWarning: () => undefined })),
  )
  const start = async (i: number, rules: string) => {
    await applyRules(stores[i]!, { rules, mayWiden: true, who: 'a test' })
    return startServer({ store: stores[i]!, access: { rules, tokens: TOKENS } })
  }
  const put = (server: RunningServer, id: string) => server.fetch(`/db/acme/notes/${id}`, jsonRequest('PUT', { id }))
  const before = await start(0, OPEN)
  for (let i = 0; i < 5; i++) expect((await put(before, `before-${i}`)).status).toBe(201)
  await before.stop()
  const rules = `quota acme objects ${MAX}\n${OPEN}`
  const servers = [await start(1, rules), await start(2, rules)]
  const count = async () => (await stores[0]!.get('_freshet/usage/acme.objects'))?.body
  await until(async () => String(await count()) === '5')
  const answers = await Promise.all(Array.from({ length: 80 }, (_, i) => put(servers[i % 2]!, `${i}`)))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(MAX - 5)
  expect(answers.filter(({ status }) => status === 403)).toHaveLength(80 - MAX + 5)
  expect((await stores[0]!.scan('acme/notes', { limit: 1000 })).entries).toHaveLength(MAX)
  for (const server of servers) await server.stop()
  for (const store of stores) await store.close()
})
