/**
 * `freshet migrate` in use: killed in the middle, with its server, while other clients write. Its change shows if it is made
 * twice.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect, type Task } from '@freshet/client'
import { beforeAll, expect, test } from 'vitest'
import { type FreshetProcess, runFreshet, serveFolder, startFreshet } from './freshet-process.js'
import { useFolder } from './test-folder.js'

const FRESHET = fileURLToPath(import.meta.resolve('@freshet/cli/dist/freshet.js'))
const COUNT = 3000
const FIRST = `export const bucket = 'shop/counters'
export const schema = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } }
`
const SECOND = `export const bucket = 'shop/counters'
export const schema = { required: ['n', 'by'], properties: { n: { type: 'integer' }, by: { enum: ['migration', 'writer'] } } }
let left = Number(process.env.OBJECTS_MAX ?? Infinity)
export const change = async counter => {
  // After OBJECTS_MAX objects it waits, so that the test kills it in time.
  await new Promise(resolve => setTimeout(resolve, left-- === 0 ? 600_000 : 1))
  return { ...counter, n: counter.n + 1, by: 'migration' }
}
`

const folder = useFolder('migrate')
let server: FreshetProcess

beforeAll(async () => {
  mkdirSync(join(folder(), 'migrations'))
  server = await serveFolder(folder())
})

function write(name: string, text: string): void {
  writeFileSync(join(folder(), 'migrations', name), text)
}

function migrate(): ReturnType<typeof runFreshet> {
  return runFreshet(['migrate', '--url', server.url], { cwd: folder() })
}

async function lastTask(): Promise<Task | undefined> {
  const { tasks } = (await (await fetch(`${server.url}/tasks`)).json()) as { tasks: Task[] }
  return tasks.at(-1)
}

async function untilDone(isDone: (task: Task | undefined) => boolean): Promise<void> {
  const deadlineMs = performance.now() + 60_000
  while (!isDone(await lastTask())) {
    if (performance.now() > deadlineMs)
      throw new Error(`The task did not get there in time: ${JSON.stringify(await lastTask())}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

/** Begins to migrate, and is killed when `done` objects are migrated, and some more are under way. */
async function migrateUntil(done: number): Promise<void> {
  const env = { ...process.env, OBJECTS_MAX: `${done + 50}` }
  const args = [FRESHET, 'migrate', '--url', server.url]
  const child = spawn(process.execPath, args, { cwd: folder(), stdio: 'ignore', env })
  const ended = once(child, 'exit')
  await untilDone(task => task?.name === '0002-count' && task.done >= done)
  child.kill('SIGKILL')
  expect(await ended).toEqual([null, 'SIGKILL'])
}

test('killed in the middle, with its server, and run again during writes: each object is migrated once', async () => {
  write('0001-counters.mjs', FIRST)
  expect(await migrate()).toMatchObject({
    exitCode: 0,
    output: '0001-counters: done, 0 objects of shop/counters changed\n',
  })
  const db = await connect(server.url)
  for (let from = 0; from < COUNT; from += 1000) {
    const parts = Array.from({ length: 1000 }, (_, i) => ({
      bucket: 'shop/counters',
      id: `${from + i}`,
      value: { n: 0 },
    }))
    await db.commit(parts)
  }
  write('0002-count.mjs', SECOND)
  await migrateUntil(300)
  await server.kill()
  server = await serveFolder(folder(), server.port)
  await migrateUntil(900)

  const written = new Map<string, number>()
  const writers = [0, 1, 2].map(async part => {
    for (let i = part; i < COUNT; i += 3 * 37) {
      const n = 1_000_000 + i
      await db.bucket('shop/counters').put(`${i}`, { n, by: 'writer' })
      written.set(`${i}`, n)
    }
  })
  const last = migrate()
  await Promise.all(writers)
  expect(await last).toMatchObject({ exitCode: 0, errors: '' })
  expect((await last).output).toMatch(
    /^0001-counters: already done\n0002-count: done, \d+ objects of shop\/counters changed\n$/,
  )

  let migrated = 0
  for await (const { id, n, by } of db.bucket<{ n: number; by: string }>('shop/counters').list({ read: 'current' })) {
    if (by === 'migration') migrated++
    expect({ id, n, by }).toEqual({ id, n: written.get(id) ?? 1, by: written.has(id) ? 'writer' : 'migration' })
  }
  expect(migrated).toBe(COUNT - written.size)
  expect(await lastTask()).toMatchObject({ state: 'done', done: COUNT, total: COUNT })
  expect((await migrate()).output).toBe('0001-counters: already done\n0002-count: already done\n')
  db.close()
})

test('a migration whose objects violate the schema is reported, and continues when it is corrected', async () => {
  const schema = `export const schema = { required: ['n', 'text'] }\nexport const bucket = 'shop/counters'\n`
  write('0003-text.mjs', `${schema}export const change = c => (c.n === 1 ? { ...c, text: 'one' } : c)`)
  const failed = await migrate()
  expect(failed.exitCode).toBe(1)
  expect(failed.errors).toMatch(
    /does not satisfy the new schema.*\n {2}\/db\/shop\/counters\/\d+ : expected have required property 'text'/,
  )
  write('0003-text.mjs', `${schema}export const change = c => ({ ...c, text: 'any' })`)
  expect(await migrate()).toMatchObject({ exitCode: 0, errors: '' })
  write('0003-again.mjs', schema)
  expect(await migrate()).toMatchObject({ exitCode: 2, errors: expect.stringContaining('have the number 0003') })
})

test('steps of the server continue after it was killed, and apply once to each object', async () => {
  const db = await connect(server.url)
  for (let from = 0; from < 2 * COUNT; from += 1000) {
    await db.commit(
      Array.from({ length: 1000 }, (_, i) => ({ bucket: 'shop/steps', id: `${from + i}`, value: { a: i } })),
    )
  }
  db.close()
  const response = await fetch(`${server.url}/db/shop/steps`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      kind: 'object',
      schema: { required: ['b'], properties: { a: false } },
      migration: { steps: [{ rename: '/a', to: '/b' }] },
    }),
  })
  expect(response.status).toBe(202)
  await untilDone(task => task?.bucket === 'shop/steps' && task.done > 0)
  await server.kill()
  server = await serveFolder(folder(), server.port)
  const { done } = (await lastTask())!
  expect(done).toBeGreaterThan(0)
  await untilDone(task => task?.state === 'done')
  expect(await lastTask()).toMatchObject({ done: 2 * COUNT, total: 2 * COUNT, changed: 2 * COUNT })
  const page = await (await fetch(`${server.url}/db/shop/steps?embed&limit=1000&prefix=59`)).json()
  for (const { id, value } of (page as { items: { id: string; value: object }[] }).items) {
    expect(value).toEqual({ b: Number(id) % 1000 })
  }
})

test('with access rules, the token covers the whole migration', async () => {
  const environment = { FRESHET_TOKEN_SECRET: 'a secret of at least thirty-two bytes' }
  const rules = join(folder(), 'shop.access')
  writeFileSync(rules, 'admin if claim.role == "admin"\n')
  const args = ['serve', '--workers', '1', '--data', join(folder(), 'closed'), '--rules', rules]
  const closed = await startFreshet(args, { environment })
  const token = (await runFreshet(['token', '--claims', '{"role":"admin"}'], { environment })).output.trim()
  const db = await connect(closed.url, { authorization: token })
  const counters = db.bucket<{ n: number }>('shop/counters')
  for (const id of ['a', 'b']) await counters.put(id, { n: 0 })
  const migrations = join(folder(), 'of-closed')
  mkdirSync(migrations)
  writeFileSync(join(migrations, '0001-count.mjs'), SECOND)
  const run = (more: Record<string, string>) =>
    runFreshet(['migrate', '--url', closed.url, '--folder', migrations], { environment: more })
  expect(await run({})).toMatchObject({ exitCode: 1, errors: expect.stringContaining('needs a token') })
  expect(await run({ FRESHET_TOKEN: token })).toMatchObject({
    exitCode: 0,
    errors: '',
    output: '0001-count: done, 2 objects of shop/counters changed\n',
  })
  expect(await counters.get('a', { read: 'current' })).toMatchObject({ n: 1 })
  db.close()
})
