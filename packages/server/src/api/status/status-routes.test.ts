import { createMemoryStore } from '@freshet/engines/memory'
import { FreshetError, STATUS_OF_CODE } from '@freshet/protocol'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import type { FreshetServerOptions } from '../../freshet-server.js'
import { createJsonLog } from '../../monitoring/log.js'
import { allRoutes } from '../../testing/all-routes.js'
import { withMethods } from '../../testing/odd-stores.js'
import { openSocket, problemOf, type RunningServer, sendRaw, until } from '../../testing/running-server.js'
import { serversPerTest } from '../../testing/servers-per-test.js'
import { openApiDocument } from './openapi.js'

const startServer = serversPerTest()
const start = (options: Partial<FreshetServerOptions> = {}): Promise<RunningServer> =>
  startServer({ store: createMemoryStore({ positionsAfter: 0 }), ...options })

interface DocumentedOperation {
  readonly parameters?: { $ref: string }[]
  readonly responses: Record<number, { readonly content?: Record<string, { readonly schema: object }> }>
}

describe('openapi', () => {
  const document = openApiDocument('0.1.0') as {
    paths: Record<string, Record<string, DocumentedOperation>>
    components: object
  }

  test('is valid', async () => {
    expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true })
  })

  test('has exactly the routes, methods and parameters of the server', async () => {
    const served = (await allRoutes(createMemoryStore())).flatMap(({ pattern, methods }) =>
      Object.entries(methods).map(([method, { parameters = [] }]) => `${method} ${pattern} ${[...parameters].sort()}`),
    )
    const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { parameters = [] }]) => {
        const resolved = parameters
          .map(({ $ref }) => resolve(document, $ref))
          .filter(({ in: place }) => place === 'query')
        return `${method.toUpperCase()} ${path} ${resolved.map(({ name }) => name).sort()}`
      }),
    )
    expect(documented.sort()).toEqual(served.sort())
  })

  test('says of every read that it may be redirected to the canonical spelling', async () => {
    for (const [path, { get }] of Object.entries(document.paths)) {
      if (get !== undefined) expect(Object.keys(get.responses), path).toContain('308')
    }
    const running = await start({})
    const { status, headers } = await running.fetch('/time?nonce=%61')
    expect([status, headers.get('location')]).toEqual([308, '/time?nonce=a'])
  })

  test('describes every answer of a bucket, also an empty page, which fits several kinds', () => {
    const { schema } = document.paths['/db/{namespace}/{bucket}']!.get!.responses[200]!.content!['application/json']!
    const isDescribed = new Ajv2020({ strict: false }).compile({ ...schema, components: document.components })
    for (const answer of [{ items: [] }, { items: [], version: 0 }, { kind: 'kv' }, { sum: 1, count: 1 }]) {
      expect(isDescribed(answer), JSON.stringify(answer)).toBe(true)
    }
    expect(isDescribed({ objects: [] })).toBe(false)
  })

  function resolve(root: unknown, reference: string): { name: string; in: string } {
    const found = reference
      .slice(2)
      .split('/')
      .reduce((value, name) => (value as Record<string, unknown>)[name], root)
    return found as { name: string; in: string }
  }
})

describe('the root', () => {
  const page = {
    'index.html': { contentType: 'text/html; charset=utf-8', body: '<!doctype html><p>Freshet' },
    'assets/page.js': { contentType: 'text/javascript', body: new TextEncoder().encode('1') },
  }

  test('is a document for programs and a page for people', async () => {
    const running = await start({ page })
    const ask = (accept: string) => running.fetch('/', { headers: { accept } })
    for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.9']) {
      const answer = await ask(accept)
      expect(await answer.json()).toMatchObject({
        name: 'freshet',
        resources: { object: '/db/{namespace}/{bucket}/{id}{?at}' },
      })
      expect(answer.headers.get('vary')).toBe('Accept')
    }
    const browser = await ask('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8')
    expect([await browser.text(), browser.headers.get('vary')]).toEqual(['<!doctype html><p>Freshet', 'Accept'])
    expect(await problemOf(await ask('image/png'))).toMatchObject({ status: 406, code: 'NOT_ACCEPTABLE' })
    expect(await (await running.fetch('/demo/assets/page.js')).text()).toBe('1')
    expect((await running.fetch('/demo')).status).toBe(200)
    expect((await running.fetch('/demo/constructor')).status).toBe(404)
  })

  test('every resource that it names without a parameter exists', async () => {
    const running = await start({ page })
    const { resources } = (await (await running.fetch('/')).json()) as { resources: Record<string, string> }
    for (const [name, template] of Object.entries(resources)) {
      const path = template.replace(/\{\?.*\}$/, '')
      if (path.includes('{') || ['commit', 'events'].includes(name)) continue
      expect([name, (await running.fetch(path)).status]).toEqual([name, 200])
    }
  })

  test('every error code has a page at the type of its problem document', async () => {
    const running = await start()
    for (const [code, status] of Object.entries(STATUS_OF_CODE)) {
      expect(await (await running.fetch(`/errors/${code}`)).json()).toMatchObject({ code, status })
    }
    expect((await running.fetch('/errors/constructor')).status).toBe(404)
  })
})

describe('cross-origin use', () => {
  test('is open to every allowed origin, and never with credentials', async () => {
    const running = await start({ settings: { corsOrigins: '*' } })
    const answer = await running.fetch('/live', { headers: { origin: 'https://a.example' } })
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    for (const name of ['ETag', 'Freshet-Position', 'Date', 'Age', 'Location', 'X-Request-Id']) {
      expect(answer.headers.get('access-control-expose-headers')).toContain(name)
    }
    const preflight = await running.fetch('/db/a/b/c', {
      method: 'OPTIONS',
      headers: { origin: 'https://a.example', 'access-control-request-method': 'PUT' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, HEAD, PUT, PATCH, POST, DELETE, OPTIONS')
    expect(preflight.headers.get('access-control-max-age')).toBe('86400')
  })

  test('is open only to the listed origins, if there is a list, and says so to caches', async () => {
    const running = await start({ settings: { corsOrigins: ['https://a.example'] } })
    await running.put('/db/a/b/c', {})
    for (const [origin, allowed] of [
      ['https://a.example', 'https://a.example'],
      ['https://b.example', null],
      ['', null],
    ]) {
      const answer = await running.fetch('/db/a/b/c', { headers: { ...(origin ? { origin } : {}) } })
      expect(answer.headers.get('access-control-allow-origin')).toBe(allowed)
      expect(answer.headers.get('vary')).toBe('Origin')
    }
  })
})

describe('an internal error', () => {
  test('is logged with its cause, and hidden from the client', async () => {
    const lines: string[] = []
    const broken = withMethods(createMemoryStore({ positionsAfter: 0 }), {
      get: key => {
        if (key.startsWith('_')) return undefined
        throw new Error('secret path /var/lib', { cause: new Error('deeper') })
      },
    })
    const running = await start({
      store: broken,
      log: createJsonLog({ level: 'error', write: line => lines.push(line) }),
    })
    const answer = await running.fetch('/db/a/b/c', { headers: { 'x-request-id': 'mine-1' } })
    expect(answer.headers.get('x-request-id')).toBe('mine-1')
    const problem = await problemOf(answer)
    expect(problem).toMatchObject({ status: 500, code: 'INTERNAL', requestId: 'mine-1' })
    expect(JSON.stringify(problem)).not.toContain('secret')
    expect(JSON.parse(lines[0]!)).toMatchObject({
      level: 'error',
      requestId: 'mine-1',
      error: 'secret path /var/lib',
      cause: { error: 'deeper' },
    })
  })

  test('keeps the code that the store gives it, but not the text', async () => {
    const full = withMethods(createMemoryStore({ positionsAfter: 0 }), {
      commit: async () => {
        throw new FreshetError('STORE_FULL', 'No space left at /var/lib/freshet.')
      },
    })
    const running = await start({ store: full })
    const answer = await running.fetch('/db/a/b/c', {
      method: 'PUT',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    })
    const problem = await problemOf(answer)
    expect(problem).toMatchObject({ status: 507, code: 'STORE_FULL' })
    expect(problem.detail).not.toContain('/var')
  })

  test('the id of a request is accepted only if it is valid', async () => {
    const running = await start()
    const { headers } = await sendRaw(
      running.port,
      'GET /live HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a b<script>\r\n\r\n',
    )
    expect(headers.get('x-request-id')).toMatch(/^[\w-]+$/)
  })
})

test('each request is logged on one line, if logRequests is on', async () => {
  const lines: string[] = []
  const running = await start({ log: createJsonLog({ level: 'request', write: line => lines.push(line) }) })
  await running.put('/db/a/b/c', {})
  await running.fetch('/db/a/b/c')
  await running.fetch('/db/a/b/c%0a')
  const requests = () => lines.map(line => JSON.parse(line)).filter(line => line.message === 'request')
  await until(() => requests().length === 3)
  expect(requests().map(({ method, url, status }) => [method, url, status])).toEqual([
    ['PUT', '/db/a/b/c', 201],
    ['GET', '/db/a/b/c', 200],
    ['GET', '/db/a/b/c%0a', 400],
  ])
  expect(lines.every(line => line.endsWith('}\n') && !line.slice(0, -1).includes('\n'))).toBe(true)
})

test('metrics count requests, reads and commits', async () => {
  const running = await start()
  await running.put('/db/a/b/c', {})
  await running.fetch('/db/a/b/c')
  await running.fetch('/db/a/b/c', { headers: { 'if-none-match': '"1"' } })
  await running.fetch('/db/a/b/nothing')
  for (const path of ['/db/a/b/c', '/db/a/b', '/live'])
    await running.fetch(path, { headers: { via: '1.1 edge (squid/5.7)' } })
  const text = await (await running.fetch('/metrics')).text()
  for (const line of [
    'freshet_requests_total{route="/db/{namespace}/{bucket}/{id}",method="GET",status="200"} 2',
    'freshet_requests_total{route="/db/{namespace}/{bucket}/{id}",method="GET",status="304"} 1',
    'freshet_requests_total{route="/db/{namespace}/{bucket}/{id}",method="GET",status="404"} 1',
    'freshet_requests_total{route="/db/{namespace}/{bucket}/{id}",method="PUT",status="201"} 1',
    'freshet_request_seconds_count{route="/db/{namespace}/{bucket}/{id}"} 5',
    'freshet_origin_reads_total 4',
    'freshet_not_modified_total 1',
    'freshet_fetches_total{via="direct",status="200"} 1',
    'freshet_fetches_total{via="direct",status="304"} 1',
    'freshet_fetches_total{via="edge (squid)",status="200"} 2',
    'freshet_commits_total 1',
    'freshet_log_position 1',
    'freshet_sketch_changes 3',
  ]) {
    expect(text).toContain(`${line}\n`)
  }
})

describe('stopping', () => {
  test('lets a write under way finish, and nothing acknowledged is lost', async () => {
    const store = createMemoryStore({ positionsAfter: 0 })
    let [isWriting, isClosing] = [false, false]
    const slow = withMethods(store, {
      commit: async commit => {
        isWriting = true
        await until(() => isClosing)
        return store.commit(commit)
      },
    })
    const running = await start({ store: slow })
    const writing = running.put('/db/a/b/c', { kept: true })
    await until(() => isWriting)
    const closing = running.server.close({ graceMs: 30_000 })
    isClosing = true
    const { version } = await writing
    await closing
    expect((await store.get('a/b/c'))?.version).toBe(version)
    await expect(fetch(`${running.url}/live`)).rejects.toThrow()
  })

  test('makes /ready fail, closes idle connections, and answers the last requests on the others', async () => {
    const store = createMemoryStore({ positionsAfter: 0 })
    let [isAsked, isClosing] = [false, false]
    const running = await start({
      store: withMethods(store, {
        getMany: async keys => {
          isAsked = true
          await until(() => isClosing)
          return store.getMany(keys)
        },
      }),
    })
    await running.put('/db/a/b/c', {})
    const socket = await openSocket(running.port)
    let received = ''
    socket.setEncoding('latin1').on('data', chunk => {
      received += chunk
    })
    const ask = (path: string) => socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    ask('/ready')
    await until(() => received.includes('"ready":true'))
    ask('/db/a/b?ids=c')
    await until(() => isAsked)
    const closing = running.server.close({ graceMs: 30_000 })
    isClosing = true
    await closing
    await until(() => received.includes('"items"'))
    expect(received.match(/Connection: close/g)).toHaveLength(1)
  })

  test('announces itself for a while, and the server answers meanwhile', async () => {
    const running = await start()
    await running.put('/db/a/b/c', { n: 1 })
    expect((await running.fetch('/ready')).status).toBe(200)
    let hasClosed = false
    const closing = running.server.close({ drainMs: 3000 }).then(() => {
      hasClosed = true
    })
    const ready = await running.fetch('/ready')
    expect([ready.status, ready.headers.get('connection')]).toEqual([503, 'close'])
    expect(((await ready.json()) as { code: string }).code).toBe('SERVER_STOPPING')
    expect(await (await running.fetch('/db/a/b/c')).json()).toEqual({ n: 1 })
    expect((await running.put('/db/a/b/c', { n: 2 })).version).toBeGreaterThan(0)
    expect(hasClosed).toBe(false)
    await closing
    await expect(running.fetch('/ready')).rejects.toThrow()
  })

  test('cuts connections that do not finish in time', async () => {
    const store = createMemoryStore({ positionsAfter: 0 })
    let isAsked = false
    const stuck = withMethods(store, {
      getMany: () => {
        isAsked = true
        return new Promise(() => undefined)
      },
    })
    const running = await start({ store: stuck })
    await running.put('/db/a/b/c', {})
    const asking = running.fetch('/db/a/b?ids=c').catch(() => 'cut')
    await until(() => isAsked)
    await running.server.close({ graceMs: 50 })
    expect(await asking).toBe('cut')
  })
})

describe('a response that takes too long', () => {
  test('to be made is cut, not sent', async () => {
    const store = createMemoryStore({ positionsAfter: 0 })
    const slow = withMethods(store, {
      getMany: async keys => {
        await new Promise(resolve => setTimeout(resolve, 120))
        return store.getMany(keys)
      },
    })
    // Written through a server without the short limit.
    await (await start({ store })).put('/db/a/b/c', {})
    const running = await start({ store: slow, settings: { responseMsMax: 50 } })
    await expect(running.fetch('/db/a/b?ids=c')).rejects.toThrow()
  })

  test('to be received is cut before the reader has all of it', async () => {
    const store = createMemoryStore({ positionsAfter: 0 })
    const running = await start({ store, settings: { responseMsMax: 3000, bodyBytesMax: 50_000_000 } })
    await running.put('/db/a/files', { kind: 'kv' })
    const bytes = Buffer.alloc(40_000_000)
    await store.commit({ writes: [{ key: 'a/files/big', contentType: 'application/octet-stream', body: bytes }] })
    const socket = await openSocket(running.port)
    socket.pause()
    socket.on('error', () => undefined)
    socket.write('GET /db/a/files/big HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await until(async () => (await (await running.fetch('/metrics')).text()).includes('freshet_responses_cut 1'))
    let length = 0
    socket.on('data', chunk => {
      length += chunk.length
    })
    socket.resume()
    await new Promise(resolve => socket.once('close', resolve))
    expect(length).toBeLessThan(bytes.length)
  })
})
