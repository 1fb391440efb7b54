/** `freshet copy`: from a folder into PostgreSQL, on to Redis while a server writes, and back; killed during the copy. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { connect } from '@freshet/client'
import { openEmbeddedStore } from '@freshet/engines/lmdb'
import { openRedisStore } from '@freshet/engines/redis'
import { DURABLE, startRedis } from '@freshet/engines/under-test/redis'
import { startPostgres } from '@freshet/engines/under-test/start-postgres'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { endFreshetProcesses, runFreshet, startFreshet } from './freshet-process.js'

const OBJECTS = 3000
const isLeftOut = ['postgresql', 'redis'].some(service => reasonToSkip(service) !== undefined)

let folder: string
const toStop: { stop(): Promise<unknown> }[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-copy-'))
})
afterEach(async () => {
  await endFreshetProcesses()
  for (const each of toStop.splice(0)) await each.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function copy(from: string, to: string) {
  const { exitCode, output, errors } = await runFreshet(['copy', '--from', from, '--to', to, '--json'])
  expect(errors).toBe('')
  expect(exitCode).toBe(0)
  return JSON.parse(output) as { copied: number; compared: number; repaired: number }
}

describe.skipIf(isLeftOut)('freshet copy', () => {
  test('copies everything from one store to another, and on to a third', async () => {
    const [postgres, redis] = [await startPostgres(), await startRedis({ settings: DURABLE })]
    toStop.push(postgres, redis)
    const data = join(folder, 'data')
    const first = await startFreshet(['serve', '--data', data, '--workers', '1', '--durability', 'relaxed'])
    const db = await connect(first.url)
    const products = db.bucket<{ n: number }>('shop/products')
    await products.configure({ indexes: [{ name: 'by-n', fields: ['n'] }] })
    for (let i = 0; i < OBJECTS; i += 100) {
      await db.commit(
        Array.from({ length: 100 }, (_, j) => ({ bucket: 'shop/products', id: `${i + j}`, value: { n: i + j } })),
      )
    }
    await db.counter('shop/views').configure({})
    await db.counter('shop/views').add('a', 7)
    db.close()
    await first.stop()

    expect(await copy(data, postgres.url)).toMatchObject({ repaired: 0 })
    // A second run finds nothing to copy.
    expect(await copy(data, postgres.url)).toMatchObject({ copied: 0, repaired: 0 })

    // On to Redis, while a server over PostgreSQL takes writes, and the first try is killed.
    const second = await startFreshet(['serve', '--store', postgres.url, '--workers', '1'])
    const writer = await connect(second.url)
    const killed = startFreshetCopy(postgres.url, redis.url)
    for (let i = 0; i < 20; i++) await writer.bucket('shop/products').put(`new-${i}`, { n: -i })
    await killed
    const report = await copy(postgres.url, redis.url)
    expect(report.compared).toBeGreaterThanOrEqual(OBJECTS + 20)
    const found = await writer.bucket<{ n: number }>('shop/products').query({ where: { n: { $lt: 0 } } })
    expect(found.items.length).toBe(19)
    writer.close()

    const third = await startFreshet(['serve', '--store', redis.url, '--workers', '2'])
    const reader = await connect(third.url)
    expect((await reader.bucket<{ n: number }>('shop/products').get('2999'))?.n).toBe(2999)
    expect((await reader.bucket<{ n: number }>('shop/products').get('new-19'))?.n).toBe(-19)
    expect(await reader.counter('shop/views').get('a')).toBe(7)
    reader.close()
  })

  test('copies a folder to an engine while a server has it open, with all writes until it is stopped', async () => {
    const redis = await startRedis({ settings: DURABLE })
    toStop.push(redis)
    const data = join(folder, 'data')
    const server = await startFreshet(['serve', '--data', data, '--workers', '2', '--durability', 'relaxed'])
    const db = await connect(server.url)
    const products = db.bucket<{ n: number }>('shop/products')
    for (let i = 0; i < 300; i++) await products.put(`${i}`, { n: i })

    const following = startFollowing(data, redis.url)
    await following.follows
    await products.put('7', { n: -7 })
    await products.delete('8')
    const target = await openRedisStore({ url: redis.url, onWarning: () => {} })
    const inTarget = async (id: string) => (await target.get(`shop/products/${id}`))?.body
    await expect.poll(async () => inTarget('8')).toBeUndefined()
    expect(Buffer.from((await inTarget('7'))!).toString()).toBe('{"n":-7}')

    // The last write, the server's end and Ctrl-C at nearly the same time: the write is copied all the same.
    await products.put('last', { n: 1 })
    db.close()
    await server.stop()
    expect(await following.stop()).toMatchObject({
      exitCode: 0,
      errors: expect.stringContaining('Stopped. The target has everything'),
    })
    expect(Buffer.from((await inTarget('last'))!).toString()).toBe('{"n":1}')
    await target.close()
    expect(await copy(data, redis.url)).toMatchObject({ copied: 0, repaired: 0 })
  })

  test('requires two stores, and an empty target', async () => {
    expect(await runFreshet(['copy', '--from', 'a'])).toMatchObject({ exitCode: 2 })
    const refused = await runFreshet(['copy', '--from', folder, '--to', 'postgres://user@127.0.0.1:1/none'])
    expect(refused.exitCode).toBe(1)
    expect(refused.errors.split('\n').length).toBe(2)
    const compact = ['serve', '--store', 'redis://127.0.0.1:1', '--workers', '1', '--operation-memory', 'compact']
    expect((await runFreshet(compact)).errors).toContain('Leave out --operation-memory, or --store.')
  })
})

describe('freshet copy between folders', () => {
  async function fill(path: string): Promise<void> {
    const store = await openEmbeddedStore({ path, durability: 'relaxed' })
    const body = Buffer.from(JSON.stringify('x'.repeat(30_000)))
    for (let i = 0; i < 200; i++) {
      await store.commit({ writes: [{ key: `shop/pictures/${i}`, contentType: 'application/json', body }] })
    }
    await store.close()
  }
  const run = (from: string, to: string) => runFreshet(['copy', '--from', from, '--to', to], { cwd: folder })

  test('refuses the same folder under another name, and a folder without a store, and creates nothing', async () => {
    await fill(join(folder, 'data'))
    symlinkSync(join(folder, 'data'), join(folder, 'link'))
    for (const to of ['./data/', 'link']) {
      expect(await run('data', to)).toEqual({
        exitCode: 2,
        output: '',
        errors: '--from and --to name the same store. Choose another one to copy into.\n',
      })
    }
    const none = await run('none', 'new')
    expect([none.exitCode, none.errors.includes('The store at none')]).toEqual([1, true])
    const unreachable = await run('data', 'postgres://user@127.0.0.1:1/none')
    expect([unreachable.exitCode, unreachable.errors.includes('127.0.0.1:1/none')]).toEqual([1, true])
    expect((await run('data', 'postgress://user:secret@host/none')).exitCode).toBe(2)
    expect(readdirSync(folder).sort()).toEqual(['data', 'link'])
  })

  test.skipIf(isLeftOut)('says that it continues once a full target has space again, and does', async () => {
    await fill(join(folder, 'data'))
    const redis = await startRedis({ settings: { ...DURABLE, maxmemory: '4mb' } })
    toStop.push(redis)
    const full = await run('data', redis.url)
    expect(full.exitCode).toBe(1)
    expect(full.errors).toContain('no memory left')
    expect(full.errors).toContain('What was copied is kept: run the same command to continue from there.')
    const line = createConnection(redis.port, '127.0.0.1').end('CONFIG SET maxmemory 0\r\nQUIT\r\n')
    expect(await text(line)).toContain('+OK')
    expect((await copy(join(folder, 'data'), redis.url)).compared).toBe(201)
  })
})

test.skipIf(isLeftOut)('freshet doctor --store reports what an engine could lose, and what to change', async () => {
  const [postgres, redis] = [await startPostgres(), await startRedis()]
  toStop.push(postgres, redis)
  const well = await runFreshet(['doctor', '--store', postgres.url])
  expect([well.exitCode, well.errors]).toEqual([0, ''])
  expect(well.output).toMatch(/acknowledged writes are on disk; it answers in [0-9.]+ ms\.\nNothing to change\.\n$/)
  const ill = await runFreshet(['doctor', '--store', redis.url, '--json'])
  expect(ill.exitCode).toBe(1)
  const { durability, warnings } = JSON.parse(ill.output) as { durability: string; warnings: string[] }
  expect([durability, warnings.join()]).toEqual(['none', expect.stringContaining('appendonly')])
  const standby = await startPostgres({ standbyOf: postgres })
  toStop.push(standby)
  const hosts = `127.0.0.1:${standby.port},127.0.0.1:${redis.port}`
  const replicated = await runFreshet(['doctor', '--store', `${postgres.url}?replicas=${hosts}`])
  expect(replicated.exitCode).toBe(1)
  expect(replicated.output).toMatch(new RegExp(`Replica 127.0.0.1:${standby.port}/postgres: answers in [0-9.]+ ms.`))
  expect(replicated.output).toContain(`- Replica 127.0.0.1:${redis.port}/postgres: not read from.`)
  expect((await runFreshet(['doctor', '--store', 'redis://127.0.0.1:1'])).exitCode).toBe(2)
  expect((await runFreshet(['doctor', '--store', redis.url, '--bucket', 'a/b'])).exitCode).toBe(2)
})

const PROGRAM = fileURLToPath(import.meta.resolve('@freshet/cli/dist/freshet.js'))

function startFollowing(from: string, to: string) {
  const args = [PROGRAM, 'copy', '--from', from, '--to', to, '--follow']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  toStop.push({ stop: async () => child.kill('SIGKILL') })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk
  })
  // Also waits for its output.
  const ended = once(child, 'close')
  return {
    follows: expect.poll(() => errors).toContain('Following changes.'),
    stop: async () => {
      child.kill('SIGINT')
      const [exitCode] = (await ended) as [number | null]
      return { exitCode, errors }
    },
  }
}

/** Starts a copy, and kills it soon after. */
async function startFreshetCopy(from: string, to: string): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM, 'copy', '--from', from, '--to', to], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  const store = await openRedisStore({ url: to, onWarning: () => {} })
  // The copy has begun, and noted that in the target.
  await expect.poll(async () => store.recall('copy')).toBeDefined()
  child.kill('SIGKILL')
  await store.close()
  await ended
}
