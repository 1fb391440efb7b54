/** A restore does not open what was closed since the backup, as long as a server with newer rules runs. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { openPostgresStore } from '@freshet/engines/postgres'
import { startPostgres } from '@freshet/engines/under-test/start-postgres'
import { expect, test } from 'vitest'
import { runningEngine } from '../testing/running-engine.js'
import { startServer, until } from '../testing/running-server.js'
import { recallRules } from './access-record.js'
import { applyRules } from './apply-rules.js'
import { TOKENS } from './under-test/bearer.js'

const OPEN = 'bucket shop/products\n  read, list\n'
const CLOSED = 'bucket shop/products\n  read, list if authenticated\n'

const engine = runningEngine(startPostgres)

test('pg_restore under a running server: the newer rules stay in force, also for servers that start later', async () => {
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, ['-h', '127.0.0.1', '-p', `${engine().port}`, '-U', engine().user, ...args], {
      stdio: 'pipe',
    })
  const dump = join(engine().folder, 'dump')
  const open = () => openPostgresStore({ url: engine().url, onWarning: () => undefined })
  const access = { rules: OPEN, tokens: TOKENS }
  const store = await open()
  const server = await startServer({ store, access })
  const read = async () => (await server.fetch('/db/shop/products/tea')).status
  expect(await read()).toBe(404)
  run('pg_dump', '-Fc', '-n', 'freshet', '-f', dump, 'postgres')
  const { version } = await applyRules(store, { rules: CLOSED, who: 'a test' })
  expect(await read()).toBe(401)
  const { log } = store
  run('pg_restore', '--clean', '--single-transaction', '-d', 'postgres', dump)
  await until(async () => (await recallRules(store)).version > version)
  expect(store.log).not.toBe(log)
  expect(await read()).toBe(401)
  const late = await open()
  const other = await startServer({ store: late, access })
  expect((await other.fetch('/db/shop/products/tea')).status).toBe(401)
  expect((await recallRules(late)).text).toBe(CLOSED)
  for (const each of [server, other]) await each.stop()
  for (const each of [store, late]) await each.close()
})
