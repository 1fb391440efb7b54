/**
 * A store restored while every server was stopped: what was closed since the backup stays closed. If no server knows the newer
 * rules, none starts until an operator confirms the rules.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunningPostgres, startPostgres } from '@freshet/engines/under-test/start-postgres'
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
const emptyPostgres = () => void pg('psql', '-q', '-d', 'postgres', '-c', 'DROP SCHEMA freshet CASCADE')
const status = async (url: string) => (await fetch(`${url}/db/shop/products/tea`)).status
const isKnown = (data: string) => readdirSync(data).filter(name => /^known-[0-9a-f]+-\d+\.json$/.test(name))

const sh = (script: string, ...args: string[]) => void execFileSync('sh', ['-ec', script, '-', ...args])
const freshet = async (...args: string[]) => {
  const { exitCode, output, errors } = await runFreshet(args, { environment })
  expect([exitCode, errors]).toEqual([0, expect.anything()])
  return output
}

interface Case {
  readonly data: string
  readonly store: readonly string[]
  readonly workers: number
  backUp(): Promise<void> | void
  restore(): Promise<void> | void
}

const namedBy = ({ data, store }: Case) => (store.length > 0 ? store : ['--data', data])
/** The server always starts with the old file, as with an unchanged systemd unit. */
const serveArgs = ({ data, store, workers }: Case) => [
  ...['serve', ...store, '--data', data, '--workers', `${workers}`, '--rules', join(folder, 'open')],
]

/** Closes the rules after the backup, and then restores the backup. */
async function restoreOlderRules(each: Case): Promise<void> {
  const before = await startFreshet(serveArgs(each), { environment })
  expect(await status(before.url)).toBe(404)
  await before.stop()
  await each.backUp()
  await freshet('rules', 'apply', join(folder, 'closed'), ...namedBy(each))
  const meanwhile = await startFreshet(serveArgs(each), { environment })
  expect(await status(meanwhile.url)).toBe(401)
  // Without a word: what is known is on disk by then.
  await meanwhile.kill()
  const known = isKnown(each.data)
  expect(known).toHaveLength(1)
  for (const name of known) expect(statSync(join(each.data, name)).mode & 0o777).toBe(0o600)
  await each.restore()
}

async function expectClosed(each: Case): Promise<void> {
  const after = await startFreshet(serveArgs(each), { environment })
  expect(await status(after.url)).toBe(401)
  await after.stop()
  expect((await after.ended).errors + after.output()).toContain('the newer rules are in force again')
}

/** The server refuses every attempt; then an operator confirms the rules of the backup. */
async function expectRefused(each: Case): Promise<void> {
  for (let attempt = 0; attempt < 2; attempt++) {
    const { exitCode, errors } = await runFreshet([...serveArgs(each), '--port', '0'], { environment })
    expect([exitCode, errors]).toEqual([1, expect.stringMatching(/freshet rules confirm.*ACCESS_REQUIRED/s)])
  }
  const shown = await runFreshet(['rules', 'show', ...namedBy(each)], { environment })
  expect([shown.output, shown.errors]).toEqual([OPEN, expect.stringContaining('freshet rules confirm')])
  await freshet('rules', 'confirm', ...namedBy(each))
  const after = await startFreshet(serveArgs(each), { environment })
  expect(await status(after.url)).toBe(404)
  await after.stop()
}

test.each([1, 2])('PostgreSQL, by pg_restore; worker processes: %i', async workers => {
  const dump = join(folder, `dump-${workers}`)
  const each = {
    data: join(folder, `known-${workers}`),
    store: ['--store', postgres.url],
    workers,
    backUp: () => void pg('pg_dump', '-Fc', '-n', 'freshet', '-f', dump, 'postgres'),
    restore: () => void pg('pg_restore', '--clean', '--single-transaction', '-d', 'postgres', dump),
  }
  await restoreOlderRules(each)
  await expectClosed(each)
  emptyPostgres()
})

test("PostgreSQL, by freshet restore; then without the server's own memory", async () => {
  const backups = join(folder, 'backups')
  const each = {
    data: join(folder, 'known'),
    store: ['--store', postgres.url],
    workers: 1,
    backUp: async () => void (await freshet('backup', backups, '--store', postgres.url)),
    restore: async () => {
      emptyPostgres()
      expect(await freshet('restore', backups, '--store', postgres.url)).toContain('freshet rules confirm')
    },
  }
  await restoreOlderRules(each)
  await expectClosed(each)
  await each.restore()
  rmSync(each.data, { recursive: true })
  await expectRefused(each)
  emptyPostgres()
})

interface CopyCase {
  readonly name: string
  readonly workers: number
  /** Shell commands: the data folder is $1, the copy $2. */
  readonly backUp: string
  readonly restore: string
}

function embedded({ workers, backUp, restore }: Omit<CopyCase, 'name'>): Case {
  const own = mkdtempSync(join(folder, 'embedded-'))
  const [data, copy] = [join(own, 'data'), join(own, 'copy')]
  return { data, store: [], workers, backUp: () => sh(backUp, data, copy), restore: () => sh(restore, data, copy) }
}

const WHOLE = 'cp -a "$1" "$2"'
// Like rsync, which skips files of the same size and time, such as .place: with --delete, by default, and with --inplace.
const REMOVE_KNOWN = 'rm "$1"/known-*'
const CHANGED = 'cd "$2"; for f in data.mdb .reached known-*; do'
const RENAMED = `${CHANGED} cp -p "$f" "$1/$f~"; mv "$1/$f~" "$1/$f"; done`
const IN_PLACE = `${CHANGED} cp -p "$f" "$1/$f"; done`

test.each<CopyCase>([
  { name: 'data.mdb', workers: 1, backUp: 'cp "$1/data.mdb" "$2"', restore: 'cp "$2" "$1/data.mdb"' },
  { name: 'data.mdb', workers: 2, backUp: 'cp "$1/data.mdb" "$2"', restore: 'mv "$2" "$1/data.mdb"' },
  { name: 'all files, over those of the folder', workers: 1, backUp: WHOLE, restore: 'cp -a "$2/." "$1/"' },
  { name: 'all files by rsync', workers: 2, backUp: WHOLE, restore: IN_PLACE },
])("the embedded store, restored beside the server's memory: $name; processes: $workers", async copy => {
  const each = embedded(copy)
  await restoreOlderRules(each)
  await expectClosed(each)
})

test.each<CopyCase>([
  { name: 'again', workers: 1, backUp: WHOLE, restore: 'rm -r "$1"; cp -a "$2" "$1"' },
  { name: 'renamed', workers: 2, backUp: WHOLE, restore: 'rm -r "$1"; mv "$2" "$1"' },
  { name: 'by rsync', workers: 1, backUp: WHOLE, restore: `${REMOVE_KNOWN}; ${RENAMED}` },
  { name: 'by rsync in place', workers: 1, backUp: WHOLE, restore: `${REMOVE_KNOWN}; ${IN_PLACE}` },
])("the embedded store, the whole folder restored with the server's memory: $name", async copy => {
  const each = embedded(copy)
  await restoreOlderRules(each)
  await expectRefused(each)
})

test('the embedded store, by freshet restore', async () => {
  const own = mkdtempSync(join(folder, 'restored-'))
  const [data, backups] = [join(own, 'data'), join(own, 'backups')]
  const each = {
    data,
    store: [],
    workers: 1,
    backUp: async () => void (await freshet('backup', backups, '--data', data)),
    restore: async () => {
      rmSync(data, { recursive: true })
      expect(await freshet('restore', backups, '--data', data)).toContain('freshet rules confirm')
    },
  }
  await restoreOlderRules(each)
  await expectRefused(each)
})

test('a folder whose owner or mode is set again, or which is renamed, needs no confirmation', async () => {
  const each = embedded({
    workers: 1,
    backUp: '',
    restore: 'chown -R "$(id -u)" "$1"; chmod -R go= "$1"; mv "$1" "$2"; mv "$2" "$1"',
  })
  await restoreOlderRules(each)
  const after = await startFreshet(serveArgs(each), { environment })
  expect(await status(after.url)).toBe(401)
  await after.stop()
})
