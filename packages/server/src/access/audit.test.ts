import { createMemoryStore } from '@freshet/engines/memory'
import { beforeAll, expect, test } from 'vitest'
import { createJsonLog } from '../monitoring/log.js'
import { jsonRequest, startServer } from '../testing/running-server.js'
import { bearer, TOKENS } from './under-test/bearer.js'

const RULES = `
admin if claim.role == "admin"
bucket shop/orders
  read if object.owner == claim.sub
`

let ann: Record<string, string>
let admin: Record<string, string>

beforeAll(async () => {
  ann = await bearer({ sub: 'ann' })
  admin = await bearer({ sub: 'root', role: 'admin' })
})

test('only admins can record that a token was made', async () => {
  const server = await startServer({ store: createMemoryStore(), access: { rules: RULES, tokens: TOKENS } })
  const note = (headers: Record<string, string>, body: unknown) =>
    server.fetch('/audit', jsonRequest('POST', body, headers))
  expect((await note({}, { token: { sub: 'x' } })).status).toBe(401)
  expect((await note(ann, { token: { sub: 'x' } })).status).toBe(403)
  expect((await note(admin, { sub: 'x' })).status).toBe(400)
  expect((await note(admin, { token: { sub: 'ada', exp: 1 } })).status).toBe(200)
  const { entries } = (await (await server.fetch('/audit', { headers: admin })).json()) as { entries: unknown[] }
  expect(entries.slice(1)).toMatchObject([
    { what: 'token', who: ' root', from: '127.0.0.1', after: { sub: 'ada', exp: 1 } },
  ])
  await server.stop()
})

test('a refusal is logged with the address and without the contents of the request; equal refusals become one line', async () => {
  const lines: string[] = []
  const log = createJsonLog({ level: 'info', write: line => lines.push(line) })
  const server = await startServer({ store: createMemoryStore(), log, access: { rules: RULES, tokens: TOKENS } })
  for (let i = 0; i < 50; i++) await server.fetch('/db/shop/orders/1?at=0', { headers: ann })
  await server.fetch('/audit', { headers: { authorization: 'Bearer forged' } })
  const refused = lines
    .map(line => JSON.parse(line) as Record<string, unknown>)
    .filter(({ message }) => message === 'refused')
  expect(refused).toMatchObject([
    { code: 'FORBIDDEN', who: ' ann', from: '127.0.0.1', method: 'GET', path: '/db/shop/orders/1' },
    { code: 'UNAUTHENTICATED', from: '127.0.0.1', path: '/audit', reason: expect.stringContaining('token') },
  ])
  expect(lines.join('')).not.toContain('forged')
  await server.stop()
})

test('the audit says who cancelled the change of a schema, in the commit that does it', async () => {
  const server = await startServer({ store: createMemoryStore(), access: { rules: RULES, tokens: TOKENS } })
  await server.put('/db/shop/orders/1', {}, admin)
  const change = { kind: 'object', schema: { required: ['a'] }, migration: { by: 'client', name: 'first' } }
  const { task } = (await server.put('/db/shop/orders', change, admin)) as { task?: string }
  const cancelled = await server.fetch(`/tasks/${task}`, jsonRequest('POST', { do: 'cancel' }, admin))
  expect(cancelled.status).toBe(200)
  const { entries } = (await (await server.fetch('/audit', { headers: admin })).json()) as { entries: unknown[] }
  expect(entries.at(-1)).toMatchObject({
    ...{ what: 'bucket', bucket: 'shop/orders', who: ' root', from: '127.0.0.1' },
    ...{ before: { task, state: 'running' }, after: { task, state: 'cancelled' } },
    version: Number(cancelled.headers.get('freshet-position')),
  })
  await server.stop()
})
