/** A store that was put back while no server ran opens nothing that a server knows to be closed. */
import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/stores/memory'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createJsonLog } from '../operations/log.js'
import { type RunningServer, startServer } from '../testing/running-server.js'
import { recallRules } from './access-record.js'
import { applyRules } from './apply-rules.js'
import type { KnownRules } from './known-rules.js'

const TOKENS = { secret: 'a secret of at least thirty-two bytes', audience: 'freshet', leewayMs: 0 }
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
  return { text: rules, version, log: store.log }
}
const read = async (server: RunningServer) => (await server.fetch('/db/shop/products/tea')).status

test('older rules than those known are replaced by those, which are noted under their new version', async () => {
  const { version } = await apply(OPEN)
  const server = await start({ text: CLOSED, version: version + 1_000_000, log: 'the one before' }, OPEN)
  expect(await read(server)).toBe(401)
  const found = await recallRules(store)
  expect(found.text).toBe(CLOSED)
  expect(noted).toEqual([{ ...found, log: store.log }])
  expect(logged).toContain('the newer rules are in force again')
})

test('a store of before there were any rules gets those known, not an old file', async () => {
  const server = await start({ text: CLOSED, version: (await store.position()) + 1, log: 'the one before' }, OPEN)
  expect(await read(server)).toBe(401)
  expect((await recallRules(store)).text).toBe(CLOSED)
})

test('newer rules than those known stay', async () => {
  const known = await apply(CLOSED)
  await apply(OPEN)
  expect(await read(await start(known))).toBe(404)
  expect((await recallRules(store)).text).toBe(OPEN)
  expect(logged).not.toContain('access rules')
})

test('newer rules in another log stay, and the server says once that they may be those of a backup', async () => {
  const { version } = await apply(OPEN)
  const server = await start({ text: CLOSED, version: version - 1, log: 'the one before' })
  expect(await read(server)).toBe(404)
  expect(logged.split('may be older ones').length).toBe(2)
})

test('every change of the rules is noted', async () => {
  const server = await start(undefined, OPEN)
  const changed = await apply(CLOSED)
  expect(await read(server)).toBe(401)
  expect(noted.map(({ text }) => text)).toEqual([OPEN, CLOSED])
  expect(noted.at(-1)).toEqual(changed)
})
