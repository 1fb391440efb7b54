/** A store that was put back while every server was stopped: what was closed since the backup stays closed. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunningPostgres, startPostgres } from '@freshet/stores/under-test/start-postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endFreshetProcesses, runFreshet, startFreshet } from './freshet-process.js'

const OPEN = 'bucket shop/products\n  read, list\n'
const CLOSED = 'bucket shop/products\n  read, list if authenticated\n'
const environment = { FRESHET_TOKEN_SECRET: 'a secret of at least thirty-two bytes' }

let folder: string
let postgres: RunningPostgres
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-put-back-rules-'))
  writeFileSync(join(folder, 'open'), OPEN)
  writeFileSync(join(folder, 'closed'), CLOSED)
  postgres = await startPostgres()
})
afterAll(async () => {
  await endFreshetProcesses()
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const pg = (program: string, ...args: string[]) =>
  execFileSync(program, ['-h', '127.0.0.1', '-p', `${postgres.port}`, '-U', postgres.user, ...args], { stdio: 'pipe' })
const status = async (url: string) => (await fetch(`${url}/db/shop/products/tea`)).status
const isKnown = (data: string) => readdirSync(data).filter(name => /^known-[0-9a-f]+\.json$/.test(name))

interface Case {
  readonly data: string
  readonly store: readonly string[]
  readonly workers: number
  backUp(): void
  restore(): void
}

async function restoreOlderRules({ data, store, workers, backUp, restore }: Case): Promise<void> {
  // The server is always started with the old file, as it would be by a unit that was not changed.
  const args = ['serve', ...store, '--data', data, '--workers', `${workers}`, '--rules', join(folder, 'open')]
  const before = await startFreshet(args, { environment })
  expect(await status(before.url)).toBe(404)
  await before.stop()
  backUp()
  const named = store.length > 0 ? store : ['--data', data]
  const applied = await runFreshet(['rules', 'apply', join(folder, 'closed'), ...named], { environment })
  expect(applied.exitCode).toBe(0)
  const meanwhile = await startFreshet(args, { environment })
  expect(await status(meanwhile.url)).toBe(401)
  // Without a word: what is known is on disk by then.
  await meanwhile.kill()
  for (const name of isKnown(data)) expect(statSync(join(data, name)).mode & 0o777).toBe(0o600)
  restore()
  const after = await startFreshet(args, { environment })
  expect(await status(after.url)).toBe(401)
  await after.stop()
  expect((await after.ended).errors + after.output()).toContain('the newer rules are in force again')
}

test.each([1, 2])('PostgreSQL, by pg_restore; processes that answer: %i', async workers => {
  const dump = join(folder, `dump-${workers}`)
  await restoreOlderRules({
    data: join(folder, `known-${workers}`),
    store: ['--store', postgres.url],
    workers,
    backUp: () => void pg('pg_dump', '-Fc', '-n', 'freshet', '-f', dump, 'postgres'),
    restore: () => void pg('pg_restore', '--clean', '--single-transaction', '-d', 'postgres', dump),
  })
  pg('psql', '-q', '-d', 'postgres', '-c', 'DROP SCHEMA freshet CASCADE')
})

test.each([1, 2])('the embedded store, by copying data.mdb back; processes that answer: %i', async workers => {
  const data = join(folder, `data-${workers}`)
  const copy = join(folder, `copy-${workers}`)
  await restoreOlderRules({
    data,
    store: [],
    workers,
    backUp: () => copyFileSync(join(data, 'data.mdb'), copy),
    restore: () => copyFileSync(copy, join(data, 'data.mdb')),
  })
})
