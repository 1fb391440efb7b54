/** `freshet export`, `import`, `backup` and `restore`, with running servers, stopped and killed during the commands. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@freshet/client'
import { startRedis } from '@freshet/engines/under-test/redis'
import { startPostgres } from '@freshet/engines/under-test/start-postgres'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { endFreshetProcesses, type FreshetProcess, runFreshet, startFreshet } from './freshet-process.js'

const OBJECTS = 2000
const FRESHET = new URL(import.meta.resolve('@freshet/cli/dist/freshet.js')).pathname

let folder: string
let server: FreshetProcess

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-transfer-'))
  server = await startFreshet(['serve', '--data', at('data'), '--workers', '2', '--durability', 'relaxed'])
})
afterEach(async () => {
  await endFreshetProcesses()
  rmSync(folder, { recursive: true, force: true })
})

function at(name: string): string {
  return join(folder, name)
}

/** Runs a command that must succeed; returns its --json output. */
async function run<Report = unknown>(...args: readonly string[]): Promise<Report> {
  const { exitCode, output, errors } = await runFreshet([...args, '--json'])
  expect([exitCode, errors]).toEqual([0, ''])
  return JSON.parse(output.trim().split('\n').at(-1)!) as Report
}

async function fill(): Promise<void> {
  const db = await connect(server.url)
  await db.bucket('shop/products').configure({ indexes: [{ name: 'by-n', fields: ['n'] }] })
  for (let i = 0; i < OBJECTS; i += 500) {
    await db.commit(
      Array.from({ length: 500 }, (_, j) => ({ bucket: 'shop/products', id: `${i + j}`, value: { n: i + j } })),
    )
  }
  await db.counter('shop/views').configure({})
  await db.counter('shop/views').add('a', 7)
  await db.kv('lab/notes').configure({})
  await db.kv('lab/notes').put("it's, ä", 'line\nbreak', { contentType: 'text/plain' })
  db.close()
}

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n').slice(1, -2)
}

test('an export from a server equals one from its store, and imports into another store unchanged', async () => {
  await fill()
  const [byUrl, byStore, again] = [at('url.ndjson'), at('store.ndjson'), at('again.ndjson')]
  await run('export', '--url', server.url, '--out', byUrl)
  const { objects, isOneState } = await run<{ objects: number; isOneState: boolean }>(
    ...['export', '--data', at('data'), '--out', byStore],
  )
  expect([objects, isOneState]).toEqual([OBJECTS + 2, true])
  expect(linesOf(byStore)).toEqual(linesOf(byUrl))

  const dry = await run('import', byStore, '--data', at('other'), '--dry-run')
  expect(dry).toMatchObject({ created: OBJECTS + 2, isDryRun: true })
  expect(await run('import', byStore, '--data', at('other'))).toMatchObject({ created: OBJECTS + 2, refused: [] })
  expect(await run('import', byStore, '--data', at('other'))).toMatchObject({ created: 0, unchanged: OBJECTS + 2 })
  await run('export', '--data', at('other'), '--out', again)
  expect(linesOf(again)).toEqual(linesOf(byStore))

  // One bucket as CSV, out and back in.
  await run('export', '--data', at('data'), '--buckets', 'shop/prod*', '--out', at('p.csv'))
  expect(await run('import', at('p.csv'), '--bucket', 'shop/products', '--url', server.url)).toMatchObject({
    unchanged: OBJECTS,
  })
  appendFileSync(at('p.csv'), 'x,1\n')
  expect((await runFreshet(['import', at('p.csv'), '--bucket', 'a/b', '--url', server.url])).exitCode).toBe(1)
})

test('a killed export continues, and the result is checked as a whole', async () => {
  await fill()
  const whole = at('whole.ndjson')
  await run('export', '--data', at('data'), '--out', whole)
  const lines = readFileSync(whole, 'utf8').split('\n')
  // As a kill leaves it: in the middle of a line.
  const cut = at('cut.ndjson')
  writeFileSync(`${cut}.part`, `${lines.slice(0, 1200).join('\n')}\n${lines[1200]!.slice(0, 20)}`)
  await run('export', '--data', at('data'), '--out', cut)
  expect(linesOf(cut)).toEqual(linesOf(whole))
  expect(existsSync(`${cut}.part`)).toBe(false)
  await run('import', cut, '--data', at('other'))

  for (const damage of [lines.slice(0, -2).join('\n'), lines.join('\n').replace('"n":77', '"n":78')]) {
    writeFileSync(at('damaged.ndjson'), damage)
    const { exitCode, errors } = await runFreshet(['import', at('damaged.ndjson'), '--data', at('none')])
    expect([exitCode, errors]).toEqual([1, expect.stringMatching(/damaged\.ndjson:\d+: .*Export it again/)])
    expect(existsSync(at('none'))).toBe(false)
  }
})

test('each invalid line is named, and the others are imported', async () => {
  const db = await connect(server.url)
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  await db.bucket('shop/products').configure({ schema })
  db.close()
  const good = Array.from({ length: 300 }, (_, i) => `{"bucket":"shop/products","id":"g${i}","value":{"n":${i}}}`)
  good.splice(100, 0, '{"bucket":"shop/products","id":"bad","value":{"n":"text"}}', 'nonsense')
  writeFileSync(at('mixed.ndjson'), `${good.join('\n')}\n`)
  const { exitCode, output, errors } = await runFreshet(['import', at('mixed.ndjson'), '--url', server.url, '--json'])
  expect(exitCode).toBe(1)
  expect(JSON.parse(output)).toMatchObject({ created: 300, refused: [{ line: 101 }, { line: 102 }] })
  expect(errors).toMatch(/mixed\.ndjson:101: .*schema.*\n.*mixed\.ndjson:102: it is not JSON/)
})

test('an object that refers to a later line is imported after it', async () => {
  const db = await connect(server.url)
  const schema = {
    type: 'object',
    properties: { parent: { type: 'string', 'x-reference': { bucket: 'shop/tree', check: true } } },
  }
  await db.bucket('shop/tree').configure({ schema })
  db.close()
  const lines = [1, 2, 3].map(i => `{"id":"${i}"${i < 3 ? `,"parent":"${i + 1}"` : ''}}`)
  writeFileSync(at('tree.ndjson'), `${lines.join('\n')}\n`)
  expect(await run('import', at('tree.ndjson'), '--bucket', 'shop/tree', '--url', server.url)).toMatchObject({
    created: 3,
  })
})

test('a backup is taken during writes, continues with later changes, and restores any marked state', async () => {
  await fill()
  const db = await connect(server.url)
  const products = db.bucket<{ n: number }>('shop/products')
  const backups = at('backups')
  expect(await run('backup', backups, '--data', at('data'))).toMatchObject({ kind: 'full' })
  const follower = spawn(process.execPath, [FRESHET, 'backup', backups, '--data', at('data'), '--follow'], {
    stdio: 'ignore',
  })
  await expect.poll(() => readdirSync(backups).filter(name => name.endsWith('.ndjson')).length).toBe(2)
  for (let i = 0; i < 50; i++) await products.put('0', { n: -i })
  await products.delete('1')
  const marks = () => [...readFileSync(join(backups, '000002.ndjson'), 'utf8').matchAll(/\{"mark":(.*)\}\n/g)]
  const reached = () => Number((marks().at(-1)?.[1] ?? '').match(/"position":(\d+)/)?.[1] ?? 0)
  const { position } = await products.put('2', { n: 1000 })
  await expect.poll(reached).toBeGreaterThanOrEqual(position)
  const between = reached()
  const last = await products.put('2', { n: 2000 })
  await expect.poll(reached).toBeGreaterThanOrEqual(last.position)
  // No other client writes there meanwhile.
  const beside = await runFreshet(['backup', backups, '--data', at('data')])
  expect([beside.exitCode, beside.errors]).toEqual([1, expect.stringContaining(`process ${follower.pid}`)])
  // However it ends, the marked states are good.
  follower.kill('SIGKILL')
  await once(follower, 'exit')
  await products.put('3', { n: 3000 })
  expect(await run('backup', backups, '--data', at('data'))).toMatchObject({ kind: 'changes', lines: 1 })
  db.close()
  await run('backup', backups, '--verify')

  const { objects, log } = await run<{ objects: number; log: string }>('restore', backups, '--data', at('restored'))
  expect(objects).toBe(OBJECTS + 1)
  await run('restore', backups, '--data', at('earlier'), '--at', `${between}`)
  const filled = await runFreshet(['restore', backups, '--data', at('restored')])
  expect([filled.exitCode, filled.errors]).toEqual([1, expect.stringContaining('Choose an empty store')])

  await run('export', '--data', at('data'), '--out', at('a.ndjson'))
  await run('export', '--data', at('restored'), '--out', at('b.ndjson'))
  expect(linesOf(at('b.ndjson'))).toEqual(linesOf(at('a.ndjson')))
  await run('export', '--data', at('earlier'), '--out', at('c.ndjson'))
  expect(linesOf(at('c.ndjson')).find(line => line.includes('"id":"2"'))).toContain('1000')

  // A server over it answers, including queries, with a new log.
  const second = await startFreshet(['serve', '--data', at('restored'), '--workers', '1'])
  const reader = await connect(second.url)
  expect((await reader.bucket<{ n: number }>('shop/products').query({ where: { n: 3000 } })).items.length).toBe(1)
  expect(await reader.counter('shop/views').get('a')).toBe(7)
  reader.close()
  const head = (await (await fetch(`${second.url}/coherence`)).json()) as { log: string }
  expect(head.log).toBe(log)
  const { entries } = (await (await fetch(`${second.url}/audit`)).json()) as { entries: object[] }
  expect(entries.at(-1)).toMatchObject({ what: 'restore', who: expect.stringContaining('store'), after: { objects } })
  expect(readFileSync(at('a.ndjson'), 'utf8')).not.toContain(log)
})

test('stopped with Ctrl-C, a restore leaves nothing behind', async () => {
  await fill()
  await run('backup', at('backups'), '--data', at('data'))
  const child = spawn(process.execPath, [FRESHET, 'restore', at('backups'), '--data', at('restored')], {
    stdio: 'ignore',
  })
  const ended = once(child, 'exit') as Promise<[number]>
  const isUnderWay = () => ['restored.restoring', 'restored'].some(name => existsSync(at(name)))
  await expect.poll(isUnderWay, { interval: 1 }).toBe(true)
  child.kill('SIGINT')
  const [exitCode] = await ended
  // Unless it was done already.
  expect(exitCode === 130 ? [false, false] : [true, false]).toEqual([
    existsSync(at('restored')),
    existsSync(at('restored.restoring')),
  ])
})

const mayMount = process.getuid?.() === 0 && process.platform === 'linux'
if (!mayMount) console.warn('Not tested: a full disk. It needs a small file system, which only root can mount.')

// Only root can mount a file system that is small enough to fill.
test.skipIf(!mayMount)('a full disk is reported, nothing looks complete, and the command continues', async () => {
  await fill()
  const small = at('small')
  mkdirSync(small)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48k', 'tmpfs', small])
  try {
    const out = join(small, 'out.ndjson')
    const full = await runFreshet(['export', '--data', at('data'), '--out', out])
    expect([full.exitCode, full.errors]).toEqual([1, expect.stringContaining('The disk is full.')])
    expect(existsSync(out)).toBe(false)
    await run('backup', at('backups'), '--data', at('data'))
    const restored = await runFreshet(['restore', at('backups'), '--data', join(small, 'restored')])
    expect([restored.exitCode, existsSync(join(small, 'restored'))]).toEqual([1, false])
    execFileSync('mount', ['-o', 'remount,size=8m', small])
    await run('export', '--data', at('data'), '--out', out)
    await run('export', '--data', at('data'), '--out', at('whole.ndjson'))
    expect(linesOf(out)).toEqual(linesOf(at('whole.ndjson')))
  } finally {
    execFileSync('umount', [small])
  }
})

const isLeftOut = ['postgresql', 'redis'].some(service => reasonToSkip(service) !== undefined)

// Where the engines are left out, the runner prints why.
test.skipIf(isLeftOut)('over engines: a backup of PostgreSQL while servers write comes back in Redis', async () => {
  const [postgres, redis] = [await startPostgres(), await startRedis()]
  try {
    const over = await startFreshet(['serve', '--store', postgres.url, '--workers', '1'])
    const db = await connect(over.url)
    const products = db.bucket<{ n: number }>('shop/products')
    for (let i = 0; i < 1000; i += 500) {
      await db.commit(
        Array.from({ length: 500 }, (_, j) => ({ bucket: 'shop/products', id: `${i + j}`, value: { n: 0 } })),
      )
    }
    let isDone = false
    const writing = (async () => {
      for (let i = 0; !isDone; i++) await products.put(`${(i * 37) % 1000}`, { n: i })
    })()
    await run('backup', at('backups'), '--store', postgres.url)
    isDone = true
    await writing
    const next = await run<{ kind: string }>('backup', at('backups'), '--store', postgres.url)
    expect(next.kind).toBe('changes')
    db.close()
    const { exitCode } = await runFreshet(['restore', at('backups'), '--store', redis.url])
    expect(exitCode).toBe(0)
    await run('export', '--store', postgres.url, '--out', at('postgres.ndjson'))
    expect((await runFreshet(['export', '--store', redis.url, '--out', at('redis.ndjson')])).exitCode).toBe(0)
    expect(linesOf(at('redis.ndjson'))).toEqual(linesOf(at('postgres.ndjson')))
    expect((await runFreshet(['restore', at('backups'), '--store', redis.url])).exitCode).toBe(1)
  } finally {
    await postgres.stop()
    await redis.stop()
  }
})

test('an export of an absent bucket fails, and leaves no file', async () => {
  await fill()
  for (const buckets of ['shop/nothing', 'shop/products,shop/nothing', 'none/*']) {
    const exported = await runFreshet([
      'export',
      '--data',
      at('data'),
      '--buckets',
      buckets,
      '--out',
      at('none.ndjson'),
    ])
    expect(exported).toMatchObject({
      exitCode: 2,
      errors: expect.stringMatching(/There is no bucket (?:shop\/nothing|none\/\*)/),
    })
    expect(existsSync(at('none.ndjson'))).toBe(false)
  }
})

test('no other account may read exports, backups, recordings and copies, whatever the umask', async () => {
  const umask = process.umask(0)
  try {
    await fill()
    await run('export', '--data', at('data'), '--out', at('all.ndjson'))
    await run('export', '--data', at('data'), '--format', 'csv', '--buckets', 'shop/products', '--out', at('some.csv'))
    await run('backup', at('backups'), '--data', at('data'))
    await run('restore', at('backups'), '--data', at('restored'))
    await run('copy', '--from', at('data'), '--to', at('copied'))
    await (await startFreshet(['serve', '--data', at('other'), '--workers', '1', '--record', at('recording')])).stop()
  } finally {
    process.umask(umask)
  }
  const names = readdirSync(folder, { recursive: true }) as string[]
  expect(names).toEqual(expect.arrayContaining(['all.ndjson', 'some.csv.sha256', 'backups', 'recording', 'copied']))
  const open = names.filter(name => (statSync(at(name)).mode & 0o077) !== 0)
  expect(open).toEqual([])
})

test('a folder that cannot be created is refused at once, by every command', async () => {
  await fill()
  await run('backup', at('backups'), '--data', at('data'))
  for (const args of [
    ['backup', '/proc/freshet', '--data', at('data')],
    ['restore', at('backups'), '--data', '/proc/freshet/data'],
    ['serve', '--data', '/proc/freshet', '--port', '0'],
  ]) {
    const { exitCode, errors } = await runFreshet(args)
    expect([args, exitCode, errors]).toEqual([args, 1, expect.stringContaining('/proc/freshet')])
    expect(errors).not.toContain('unforeseen')
  }
})
