/** A store that was restored while no server ran opens nothing that a server knows to be closed. */
import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createJsonLog } from '../monitoring/log.js'
import { type RunningServer, startServer, until } from '../testing/running-server.js'
import { ACCESS_KEY, recallRules, restoredRules } from './access-record.js'
import { applyRules } from './apply-rules.js'
import type { KnownRules } from './known-rules.js'
import { TOKENS } from './under-test/bearer.js'

const OPEN = 'bucket shop/products\n  read, list\n'
const CLOSED = 'bucket shop/products\n  read, list if authenticated\n'

let store: Store
let servers: RunningServer[]
let noted: KnownRules[]
let logged: string
beforeEach(() => {
  store = createMemoryStore()
  servers = []
  noted = []
  logged = ''
})
afterEach(() => Promise.all(servers.map(server => server.stop())))

async function start(known: KnownRules | undefined, rules?: string): Promise<RunningServer> {
  const write = (line: string) => {
    logged += line
  }
  const rulesMemory = { known, note: async (rules: KnownRules) => void noted.push(rules) }
  const access = { tokens: TOKENS, ...(rules === undefined ? {} : { rules }) }
  const server = await startServer({ store, access, rulesMemory, log: createJsonLog({ level: 'info', write }) })
  servers.push(server)
  return server
}
const apply = async (rules: string) => {
  const { version } = await applyRules(store, { rules, mayWiden: true, who: 'a test' })
  return { text: rules, version, since: version, log: store.log }
}
/** Known from another log. */
const knownOf = (since: number, text = CLOSED): KnownRules => ({ text, version: since, since, log: 'the one before' })
/** As `freshet restore` does, from a backup of this position. */
const restore = async (rules: string, position: number) => {
  const body = restoredRules(Buffer.from(JSON.stringify({ rules })), position)
  await store.commit({ writes: [{ key: ACCESS_KEY, contentType: 'application/json', body }] })
}
const read = async (server: RunningServer) => (await server.fetch('/db/shop/products/tea')).status

test('rules older than the known ones are replaced by these, which are remembered under their new version', async () => {
  const { version } = await apply(OPEN)
  const server = await start(knownOf(version + 1_000_000), OPEN)
  expect(await read(server)).toBe(401)
  const found = await recallRules(store)
  expect(found.text).toBe(CLOSED)
  const { text, version: again, since } = found
  expect(noted).toEqual([{ text, version: again, since, log: store.log }])
  expect(logged).toContain('the newer rules are in force again')
})

test('a store from before there were any rules gets the known rules, not those of an old file', async () => {
  const server = await start(knownOf((await store.position()) + 1), OPEN)
  expect(await read(server)).toBe(401)
  expect((await recallRules(store)).text).toBe(CLOSED)
})

test('rules that are newer than the known ones stay', async () => {
  const known = await apply(CLOSED)
  await apply(OPEN)
  expect(await read(await start(known))).toBe(404)
  expect((await recallRules(store)).text).toBe(OPEN)
  expect(logged).not.toContain('access rules')
})

test('newer rules in another log stay, and the server logs once that they may come from a backup', async () => {
  const { version } = await apply(OPEN)
  const server = await start(knownOf(version - 1))
  expect(await read(server)).toBe(404)
  expect(logged.split('may be out of date').length).toBe(2)
})

test('every change of the rules is remembered', async () => {
  const server = await start(undefined, OPEN)
  const changed = await apply(CLOSED)
  expect(await read(server)).toBe(401)
  expect(noted.map(({ text }) => text)).toEqual([OPEN, CLOSED])
  expect(noted.at(-1)).toEqual(changed)
})

test('if two servers know newer rules than a backup, the newest win, whichever server starts first', async () => {
  const position = await store.position()
  await restore('bucket shop/products\n  read, list, write\n', position)
  expect(await read(await start(knownOf(position + 1, OPEN)))).toBe(404)
  expect(await read(await start(knownOf(position + 2)))).toBe(401)
  expect((await recallRules(store)).text).toBe(CLOSED)
})

test('the rules of a backup are refused until they are confirmed, if no server knows newer ones', async () => {
  const known = await apply(OPEN)
  await restore(OPEN, await store.position())
  await expect(start(known)).rejects.toMatchObject({ code: 'ACCESS_REQUIRED' })
  await apply(OPEN)
  expect(await read(await start(known))).toBe(404)
  expect(await read(await start(knownOf(known.version + 1)))).toBe(404)
})

test('a backup without rules must be confirmed if there are token keys', async () => {
  const body = restoredRules(undefined, 1)
  await store.commit({ writes: [{ key: ACCESS_KEY, contentType: 'application/json', body }] })
  await expect(start(undefined, OPEN)).rejects.toMatchObject({ code: 'ACCESS_REQUIRED' })
  const without = await startServer({ store })
  servers.push(without)
  expect(await read(without)).toBe(404)
})

test('a running server refuses everything once its rules are those of a backup, until they are confirmed', async () => {
  const server = await start(undefined, OPEN)
  await restore(OPEN, await store.position())
  await until(async () => (await read(server)) === 401)
  expect(logged).toContain('nothing is allowed until an operator confirms them')
  await apply(OPEN)
  await until(async () => (await read(server)) === 404)
})
