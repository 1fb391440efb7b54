/** What a caller may do, reported without doing it. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { jsonRequest, problemOf, type RunningServer } from '../testing/running-server.js'
import { bearer } from './under-test/bearer.js'
import { startRuledServer } from './under-test/start-ruled-server.js'

const RULES = `
admin if claim.role == "admin"
bucket shop/orders
  read, delete if object.owner == claim.sub
  list if authenticated
  create if new.owner == claim.sub
`

let running: RunningServer
let admin: Record<string, string>
let ann: Record<string, string>

beforeEach(async () => {
  running = await startRuledServer(RULES)
  admin = await bearer({ sub: 'root', role: 'admin' })
  ann = await bearer({ sub: 'ann' })
  await running.put('/db/shop/orders/7', { owner: 'ann' }, admin)
})
afterEach(() => running.stop())

const ask = (body: unknown, headers = admin) => running.fetch('/access/try', jsonRequest('POST', body, headers))
const tell = async (body: unknown) => (await ask(body)).json()

test('the reported rights are those that the same caller has in requests', async () => {
  const path = 'shop/orders/7'
  expect(await tell({ claims: { sub: 'ann' }, path })).toEqual({
    isAdmin: false,
    isThere: true,
    rights: { read: true, list: true, create: true, update: false, delete: true },
  })
  expect(await tell({ claims: { sub: 'bob' }, path })).toMatchObject({
    rights: { read: false, list: true, delete: false },
  })
  expect(await tell({ claims: null, path })).toMatchObject({ rights: { read: false, list: false } })
  expect(await tell({ claims: { role: 'admin' }, path })).toMatchObject({ isAdmin: true, rights: { update: true } })
  expect((await running.fetch('/db/shop/orders/7', { headers: ann })).status).toBe(200)
})

test('the rights on an object that does not exist yet can be tried', async () => {
  const tried = { claims: { sub: 'bob' }, path: 'shop/orders/8', new: { owner: 'bob' } }
  expect(await tell(tried)).toMatchObject({ isThere: false, rights: { create: true, read: false } })
})

test('other rules can be tried, and their mistakes are reported', async () => {
  const asked = { claims: null, path: 'shop/orders/7' }
  expect(await tell({ ...asked, rules: 'bucket shop/orders\n  read' })).toMatchObject({ rights: { read: true } })
  expect(await tell({ ...asked, rules: 'bucket shop/orders\n  raed' })).toMatchObject({ mistakes: [{ line: 2 }] })
  const wrong = 'bucket shop/orders\n  read\ndeny read shop/orders/7 as anyone'
  expect(await tell({ ...asked, rules: wrong })).toMatchObject({ mistakes: [{ line: 3 }] })
  expect((await running.fetch('/db/shop/orders/7')).status).toBe(401)
})

test('it is for admins, and refuses invalid requests', async () => {
  expect((await ask({ claims: null, path: 'shop/orders/7' }, ann)).status).toBe(403)
  expect((await ask({ claims: null, path: 'shop/orders/7' }, {})).status).toBe(401)
  for (const body of [
    { claims: null },
    { path: 'shop/orders/7' },
    { claims: [], path: 'a/b' },
    { claims: null, path: 'a/b', x: 1 },
  ]) {
    expect(await problemOf(await ask(body))).toMatchObject({ status: 400, code: 'BODY_INVALID' })
  }
  expect(await problemOf(await ask({ claims: null, path: '_freshet/access/rules' }))).toMatchObject({
    code: 'NAME_INVALID',
  })
})

test('every page of the console needs the rights of an admin', async () => {
  for (const path of [
    '/server',
    '/logs',
    '/conflicts',
    '/changes',
    '/caches',
    '/nodes',
    '/access',
    '/metrics',
    '/tasks',
  ]) {
    const statuses = await Promise.all(
      [{}, ann, admin].map(async headers => (await running.fetch(path, { headers })).status),
    )
    expect([path, ...statuses]).toEqual([path, 401, 403, 200])
  }
  const doctor = await running.fetch('/doctor', jsonRequest('POST', { cache: 'edge' }, ann))
  expect(doctor.status).toBe(403)
})
