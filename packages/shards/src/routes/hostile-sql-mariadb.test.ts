/** Hostile and broken SQL over the public routes: each is refused clearly, and nothing is changed. */

import { createMemoryStore } from '@freshet/engines/memory'
import { jsonRequest, type RunningServer, startServer } from '@freshet/server/testing/running-server'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hostileQueries, PAYLOADS } from '../under-test/hostile-queries.js'
import { useMariadbShards } from '../under-test/use-shards.js'
import { joinShards } from './sql-routes.js'

const QUERIES = Number(process.env.FRESHET_QUERIES ?? 500)
/** The codes for typing errors and for unknown tables or columns. */
const REFUSALS = ['SQL_INVALID', 'SQL_REFUSED', 'LIMIT_EXCEEDED', 'BODY_INVALID', 'GLOBAL_REFUSED']

const started = useMariadbShards()
let server: RunningServer

beforeAll(async () => {
  const store = createMemoryStore({ positionsAfter: 0 })
  server = await startServer({ store, capabilities: [joinShards({ ...started(), hasLocalWrites: false })] })
})

afterAll(async () => {
  await server?.stop()
})

/** Checksums of all tables on every shard. */
async function stateOfAll(): Promise<string> {
  const lines: string[] = []
  for (const name of [...started().map.shards, 'arbiter']) {
    const tables = await started().databases.run(name, 'SHOW TABLES')
    for (const table of tables.map(row => String(Object.values(row)[0])).sort()) {
      const rows = await started().databases.run(name, `CHECKSUM TABLE ${table}`)
      lines.push(`${name}.${table} ${Object.values(rows[0]!).map(String).join(' ')}`)
    }
  }
  return lines.join('\n')
}

test('any text sent as a query is answered, or refused with a reason, at once, and nothing is changed', async () => {
  const before = await stateOfAll()
  const codes = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(hostileQueries(), async q => {
      const response = await server.fetch('/sql', jsonRequest('POST', { q, p: ["'; drop table people; -- "] }))
      const body = (await response.json()) as { readonly code?: string; readonly detail?: string }
      const code = response.ok ? 'answered' : body.code!
      codes.set(code, (codes.get(code) ?? 0) + 1)
      if (!response.ok) expect(REFUSALS, `${q.slice(0, 300)}: ${JSON.stringify(body)}`).toContain(code)
      if (!response.ok) expect(body.detail).toMatch(/.{20}/)
    }),
    { numRuns: QUERIES },
  )
  console.log(`${QUERIES} hostile or broken queries:`, [...codes])
  expect(codes.get('SQL_INVALID')).toBeGreaterThan(0)
  expect(await stateOfAll()).toBe(before)
})

test.each(['1+', 'not ', '(', '- ', 'a and (', 'case when ', 'cast(', 'exists(select ', 'select 1 union '])(
  'a query that only repeats %j leaves the parser working',
  async part => {
    const ask = (q: string) => server.fetch('/sql', jsonRequest('POST', { q }))
    for (const length of [100, 1000, 3000, 4000, 10_000, 100_000]) {
      const q = `select ${part.repeat(length / part.length)}`
      for (const each of [q, q, `${q} true`, `${q} 1 from people`]) {
        const response = await ask(each)
        const { code } = (await response.json()) as { readonly code?: string }
        if (!response.ok) expect(REFUSALS, each.slice(0, 100)).toContain(code)
      }
    }
    expect((await ask('select count(*) from people')).status).toBe(200)
  },
)

test('every payload is a plain value if it is sent as one, and is refused as a global write', async () => {
  const before = await stateOfAll()
  for (const payload of PAYLOADS) {
    const asked = await server.fetch(
      '/sql',
      jsonRequest('POST', { q: 'select count(*) as n from people where name = $1 or team = $1', p: [payload] }),
    )
    const body = (await asked.json()) as { readonly rows?: unknown; readonly code?: string }
    expect([payload, body.rows ?? body.code]).toEqual([payload, [[0]]])
    for (const q of [payload, `select 1; ${payload}`, `update nothing set a = '${payload}'`]) {
      const response = await server.fetch('/global', jsonRequest('POST', { q }))
      const { code } = (await response.json()) as { readonly code: string }
      expect(REFUSALS, q).toContain(code)
    }
  }
  expect(await stateOfAll()).toBe(before)
})

test('a table that was changed on one shard alone is named', async () => {
  const { run } = started().databases
  const ask = async (q: string) => {
    const response = await server.fetch('/sql', jsonRequest('POST', { q }))
    return (await response.json()) as { readonly code: string; readonly detail: string }
  }
  await run('b', 'ALTER TABLE visits DROP COLUMN minutes')
  expect(await ask('select sum(minutes) from visits')).toMatchObject({
    code: 'SHARD_DRIFT',
    detail: expect.stringContaining('visits of b'),
  })
  await run('b', 'ALTER TABLE visits ADD COLUMN minutes VARCHAR(20)')
  expect(await ask('select max(minutes) from visits')).toMatchObject({ code: 'SHARD_DRIFT' })
  await run('c', 'DROP TABLE visits')
  expect(await ask('select sum(spent) from visits')).toMatchObject({
    code: 'SHARD_DRIFT',
    detail: expect.stringContaining('visits of'),
  })
})
