import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import type { BucketAnswer, JsonSchema, Task } from '@freshet/protocol'
import { afterEach, describe, expect, test } from 'vitest'
import { withMethods } from '../../testing/odd-stores.js'
import { jsonRequest, problemOf, type RunningServer, startServer, until } from '../../testing/running-server.js'

const OLD: JsonSchema = { required: ['title'] }
const NEW: JsonSchema = {
  required: ['name', 'stock'],
  additionalProperties: false,
  properties: { name: { type: 'string' }, stock: { type: 'integer' }, n: {}, note: {} },
}
const STEPS = [
  { rename: '/title', to: '/name' },
  { default: '/stock', value: 0 },
  // Would damage an object that is migrated already.
  { remove: '/note' },
]
const BUCKET = '/db/shop/products'

const servers: RunningServer[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map(server => server.stop()))
})

async function start(store: Store = createMemoryStore(), mayKeep = true): Promise<RunningServer> {
  const server = await startServer({ store, settings: { mayKeep } })
  servers.push(server)
  return server
}

async function fill(server: RunningServer, count: number, value: (n: number) => object): Promise<void> {
  for (let from = 0; from < count; from += 1000) {
    const writes = Array.from({ length: Math.min(1000, count - from) }, (_, i) => ({
      path: `${BUCKET}/${from + i}`,
      value: value(from + i),
    }))
    const answer = await server.fetch('/commit', jsonRequest('POST', { writes }))
    expect(answer.status).toBe(200)
  }
}

async function configure(server: RunningServer, settings: object): Promise<string> {
  const answer = (await server.put(BUCKET, { kind: 'object', ...settings })) as BucketAnswer
  expect(answer.task).toBeDefined()
  return answer.task!
}

async function taskOf(server: RunningServer, id: string): Promise<Task> {
  return (await (await server.fetch(`/tasks/${id}`)).json()) as Task
}

async function end(server: RunningServer, id: string): Promise<Task> {
  await until(async () => (await taskOf(server, id)).state !== 'running', 30_000)
  return taskOf(server, id)
}

function tell(server: RunningServer, id: string, action: object): Promise<Response> {
  return server.fetch(`/tasks/${id}`, jsonRequest('POST', action))
}

async function objects(server: RunningServer): Promise<Map<string, Record<string, unknown>>> {
  const found = new Map<string, Record<string, unknown>>()
  for (let next: string | undefined = ''; next !== undefined; ) {
    const after: string = next === '' ? '' : `after=${next}&`
    const page = (await (await server.fetch(`${BUCKET}?${after}embed&limit=1000`)).json()) as {
      items: { id: string; value: Record<string, unknown> }[]
      next?: string
    }
    for (const { id, value } of page.items) found.set(id, value)
    next = page.next
  }
  return found
}

/** Patches one object in a commit that depends on the object's version. */
async function patchByCommit(server: RunningServer, path: string, patch: object): Promise<Response> {
  const version = Number((await server.fetch(path)).headers.get('etag')!.slice(1, -1))
  return server.fetch('/commit', jsonRequest('POST', { reads: [{ path, version }], writes: [{ path, patch }] }))
}

async function schemaVersion(server: RunningServer): Promise<number | undefined> {
  const settings = await (await server.fetch(`${BUCKET}?settings`)).json()
  return (settings as { schemaVersion?: number }).schemaVersion
}

describe('the check of a large bucket', () => {
  test('puts the schema into force when every object satisfies it; until then, writes must satisfy both', async () => {
    const store = createMemoryStore()
    const idle = await start(store, false)
    await idle.put(BUCKET, { kind: 'object', schema: OLD })
    await fill(idle, 1500, n => ({ title: 't', name: 'n', stock: n }))
    const both = { required: ['name'] }
    const id = await configure(idle, { schema: both })
    for (const poor of [{ title: 't' }, { name: 'n' }]) {
      const refused = await idle.fetch(`${BUCKET}/x`, jsonRequest('PUT', poor))
      expect(await problemOf(refused)).toMatchObject({ code: 'SCHEMA_VIOLATED' })
    }
    const again = await idle.fetch(BUCKET, jsonRequest('PUT', { kind: 'object' }))
    expect(await problemOf(again)).toMatchObject({ code: 'MIGRATION_UNFINISHED', task: id })
    expect(await schemaVersion(idle)).toBe(1)
    const keeper = await start(store)
    expect(await end(keeper, id)).toMatchObject({ kind: 'check', state: 'done', done: 1500, total: 1500, changed: 0 })
    expect(await schemaVersion(keeper)).toBe(2)
    await keeper.put(`${BUCKET}/x`, { name: 'n' })
  })

  test('refuses the schema if an object does not satisfy it, and names the object', async () => {
    const server = await start()
    await fill(server, 1500, n => (n === 777 ? {} : { title: 't' }))
    const id = await configure(server, { schema: OLD })
    expect(await end(server, id)).toMatchObject({
      state: 'failed',
      error: { violations: [{ path: `${BUCKET}/777`, at: '' }] },
    })
    expect(await schemaVersion(server)).toBeUndefined()
    expect(await problemOf(await tell(server, id, { do: 'resume' }))).toMatchObject({ code: 'TASK_STATE' })
    await server.put(`${BUCKET}/free`, {})
  })

  test('can be cancelled', async () => {
    const idle = await start(createMemoryStore(), false)
    await fill(idle, 1500, () => ({ title: 't' }))
    const id = await configure(idle, { schema: OLD })
    expect((await tell(idle, id, { do: 'cancel' })).status).toBe(200)
    await idle.put(`${BUCKET}/free`, {})
    expect(await taskOf(idle, id)).toMatchObject({ state: 'cancelled' })
  })
})

describe('a migration by steps', () => {
  test('changes each object once, and leaves objects alone that are written meanwhile', async () => {
    const store = createMemoryStore()
    const idle = await start(store, false)
    await fill(idle, 1000, n => ({ title: `t${n}`, n, note: 'old' }))
    const id = await configure(idle, { schema: NEW, migration: { name: 'rename', steps: STEPS } })
    expect(await schemaVersion(idle)).toBe(1)
    // Writes before the migration reaches any object: replaced, patched (which migrates it), refused, deleted.
    await idle.put(`${BUCKET}/1`, { name: 'mine', stock: 7, note: 'new' })
    const patch = jsonRequest('PATCH', { stock: 5, note: 'new' }, { 'content-type': 'application/merge-patch+json' })
    expect((await idle.fetch(`${BUCKET}/2`, patch)).status).toBe(200)
    const old = await idle.fetch(`${BUCKET}/3`, jsonRequest('PUT', { title: 'old' }))
    expect(await problemOf(old)).toMatchObject({ code: 'SCHEMA_VIOLATED' })
    await idle.fetch(`${BUCKET}/4`, { method: 'DELETE' })
    // A change of other settings does not restart the migration.
    await idle.put(BUCKET, { kind: 'object', schema: NEW, lifetimeMs: 1000 })
    expect(await taskOf(idle, id)).toMatchObject({ state: 'running', done: 0, from: expect.any(Number) })
    const keeper = await start(store)
    expect(await end(keeper, id)).toMatchObject({ state: 'done', done: 999, total: 999, changed: 997 })
    const found = await objects(keeper)
    expect(found.get('1')).toEqual({ name: 'mine', stock: 7, note: 'new' })
    expect(found.get('2')).toEqual({ name: 't2', stock: 5, n: 2, note: 'new' })
    expect(found.has('4')).toBe(false)
    expect(found.get('500')).toEqual({ name: 't500', stock: 0, n: 500 })
    const list = (await (await keeper.fetch('/tasks')).json()) as { tasks: Task[] }
    expect(list.tasks.map(task => task.id)).toEqual([id])
  })

  test('also changes an object that a commit patches before its turn', async () => {
    const store = createMemoryStore()
    const idle = await start(store, false)
    await fill(idle, 1000, n => ({ title: `t${n}` }))
    const id = await configure(idle, { schema: { required: ['stock'] }, migration: { steps: STEPS } })
    expect((await patchByCommit(idle, `${BUCKET}/1`, { stock: 5 })).status).toBe(200)
    const keeper = await start(store)
    expect(await end(keeper, id)).toMatchObject({ state: 'done' })
    expect((await objects(keeper)).get('1')).toEqual({ name: 't1', stock: 5 })
  })

  test('loses no concurrent write, and changes no object twice', async () => {
    const store = createMemoryStore()
    let migrated = 0
    const counting = withMethods(store, {
      commit: async commit => {
        const result = await store.commit(commit)
        const isTask = commit.writes.some(({ key }) => key.startsWith('_freshet/tasks/'))
        if (result.committed && isTask)
          migrated += commit.writes.filter(({ key }) => key.startsWith('shop/products/')).length
        return result
      },
    })
    const server = await start(counting)
    await fill(server, 1000, n => ({ title: `t${n}`, n }))
    const id = await configure(server, { schema: NEW, migration: { steps: STEPS } })
    const written = new Map<string, object>()
    const writer = async (seed: number) => {
      for (let i = 0; (await taskOf(server, id)).state === 'running'; i++) {
        // Each writer has its own ids, so the last value that it wrote must be stored.
        const name = `${((i * 31) % 500) * 2 + seed}`
        const value = { name: `writer ${seed}`, stock: i }
        await server.put(`${BUCKET}/${name}`, value)
        written.set(name, value)
      }
    }
    await Promise.all([0, 1].map(part => writer(part)))
    const task = await end(server, id)
    expect(task).toMatchObject({ state: 'done' })
    expect(task.changed).toBe(migrated)
    const found = await objects(server)
    let untouched = 0
    for (const [name, value] of found) {
      if (/^writer/.test(String(value.name))) continue
      untouched++
      expect(value).toEqual({ name: `t${name}`, stock: 0, n: Number(name) })
    }
    for (const [name, value] of written) expect(found.get(name)).toEqual(value)
    expect(untouched).toBe(1000 - written.size)
  })

  test('keeps a write that comes between reading a page and committing it', async () => {
    const store = createMemoryStore()
    const theirs = Buffer.from('{"name":"theirs","stock":9}')
    let isDone = false
    const server = await start(
      withMethods(store, {
        commit: async commit => {
          const keys = commit.writes.map(({ key }) => key)
          if (!isDone && keys.includes('shop/products/10') && keys.some(key => key.startsWith('_freshet/tasks/'))) {
            isDone = true
            const write = { key: 'shop/products/10', contentType: 'application/json', body: theirs }
            await store.commit({ writes: [write, { key: 'shop/products/11', delete: true }] })
          }
          return store.commit(commit)
        },
      }),
    )
    await fill(server, 50, n => ({ title: `t${n}` }))
    const id = await configure(server, { schema: NEW, migration: { steps: STEPS } })
    expect(await end(server, id)).toMatchObject({ state: 'done', done: 49, changed: 48 })
    const found = await objects(server)
    expect(isDone).toBe(true)
    expect(found.get('10')).toEqual({ name: 'theirs', stock: 9 })
    expect(found.has('11')).toBe(false)
  })

  test('continues where it was after its server has stopped', async () => {
    const store = createMemoryStore()
    let left = 3
    const dying = withMethods(store, {
      commit: async commit => {
        const isPage = commit.writes.some(({ key }) => key.startsWith('shop/products/')) && commit.writes.length > 2
        if (isPage && commit.writes.some(({ key }) => key.startsWith('_freshet/')) && left-- <= 0) {
          throw new Error('gone')
        }
        return store.commit(commit)
      },
    })
    const first = await start(dying)
    await fill(first, 1000, n => ({ title: `t${n}`, n }))
    const id = await configure(first, { schema: NEW, migration: { steps: STEPS } })
    await until(() => left < 0)
    expect(await taskOf(first, id)).toMatchObject({ state: 'running', done: 300, changed: 300 })
    await first.stop()
    servers.length = 0
    const second = await start(store)
    expect(await end(second, id)).toMatchObject({ state: 'done', done: 1000, changed: 1000 })
    expect([...(await objects(second)).values()].every(({ name, stock }) => name !== undefined && stock === 0)).toBe(
      true,
    )
  })

  test('stops at an object that it cannot convert, and continues once that is corrected', async () => {
    const server = await start()
    await fill(server, 300, n => (n === 150 ? { title: 7 } : { title: `t${n}` }))
    const id = await configure(server, { schema: NEW, migration: { steps: STEPS } })
    expect(await end(server, id)).toMatchObject({
      state: 'failed',
      error: { violations: [{ path: `${BUCKET}/150`, at: '/name', expected: 'string' }] },
    })
    expect(await problemOf(await tell(server, id, { do: 'finish' }))).toMatchObject({ code: 'TASK_STATE' })
    await server.put(`${BUCKET}/150`, { name: 'corrected', stock: 1 })
    expect((await tell(server, id, { do: 'resume' })).status).toBe(200)
    expect(await end(server, id)).toMatchObject({ state: 'done', done: 300, changed: 299 })
    expect(await end(server, id)).not.toHaveProperty('error')
  })
})

describe('a migration by a client', () => {
  test('is done when the server has found that every object satisfies the schema', async () => {
    const server = await start()
    await fill(server, 3, n => ({ title: `t${n}` }))
    const id = await configure(server, { schema: NEW, migration: { by: 'client', name: '0001-names' } })
    const patch = jsonRequest('PATCH', { stock: 5 }, { 'content-type': 'application/merge-patch+json' })
    expect(await problemOf(await server.fetch(`${BUCKET}/0`, patch))).toMatchObject({ code: 'MIGRATION_UNFINISHED' })
    const inCommit = await patchByCommit(server, `${BUCKET}/0`, { stock: 5 })
    expect(await problemOf(inCommit)).toMatchObject({ code: 'MIGRATION_UNFINISHED' })
    for (const n of [0, 1]) await server.put(`${BUCKET}/${n}`, { name: `t${n}`, stock: 0 })
    expect((await tell(server, id, { do: 'progress', after: '1', done: 2, changed: 2 })).status).toBe(200)
    await tell(server, id, { do: 'finish' })
    expect(await end(server, id)).toMatchObject({
      state: 'failed',
      error: { violations: [{ path: `${BUCKET}/2` }, {}, {}] },
    })
    await tell(server, id, { do: 'resume' })
    await server.put(`${BUCKET}/2`, { name: 't2', stock: 0 })
    await tell(server, id, { do: 'finish' })
    expect(await end(server, id)).toMatchObject({ state: 'done', changed: 2 })
    const { schemas } = (await (await server.fetch(`${BUCKET}?schemas`)).json()) as { schemas: object[] }
    expect(schemas).toMatchObject([{ version: 1, migration: '0001-names', task: id }])
    expect((await server.fetch(`${BUCKET}/0`, patch)).status).toBe(200)
  })

  test.each([
    [{}],
    [{ do: 'stop' }],
    [{ do: 'resume', after: 'a' }],
    [{ do: 'progress', after: 'a', done: -1, changed: 0 }],
  ])('does not accept %j', async action => {
    const server = await start()
    expect(await problemOf(await tell(server, 'x', action))).toMatchObject({ code: 'BODY_INVALID' })
  })

  test('that does not exist is not found', async () => {
    const server = await start()
    expect(await problemOf(await server.fetch('/tasks/none'))).toMatchObject({ status: 404, code: 'TASK_NOT_FOUND' })
  })
})
