import { createMemoryStore } from '@freshet/engines/memory'
import type { Route } from '@freshet/server/capabilities'
import { TOKEN_AUDIENCE, TOKEN_LEEWAY_MS } from '@freshet/server/configuration'
import { openSocket, parseAnswer, type RunningServer, startServer, until } from '@freshet/server/testing/running-server'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { joinShards } from './sql-routes.js'

interface DocumentedOperation {
  readonly parameters?: readonly { readonly $ref: string }[]
}

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: {
    readonly parameters: Readonly<Record<string, { readonly name: string; readonly in: string }>>
  }
}

describe('a server without shards', () => {
  let routes: readonly Route[]
  let server: RunningServer
  let guarded: RunningServer
  beforeAll(async () => {
    server = await startServer({
      store: createMemoryStore({ positionsAfter: 0 }),
      capabilities: [
        host => {
          const capability = joinShards(undefined)(host)
          routes = capability.routes()
          return capability
        },
      ],
    })
    guarded = await startServer({
      store: createMemoryStore({ positionsAfter: 0 }),
      capabilities: [joinShards(undefined)],
      access: {
        rules: 'admin if claim.role == "admin"',
        tokens: { secret: 's'.repeat(32), audience: TOKEN_AUDIENCE, leewayMs: TOKEN_LEEWAY_MS },
      },
    })
  })
  afterAll(async () => {
    await server?.stop()
    await guarded?.stop()
  })

  test('refuses its routes, and says how to enable them', async () => {
    for (const path of ['/sql?q=select%201', '/sql/versions', '/global']) {
      const answer = await server.fetch(path)
      expect(answer.status, path).toBe(404)
      expect(await answer.json()).toMatchObject({
        code: 'ROUTE_UNKNOWN',
        detail: expect.stringContaining('docs/guides/shards.md'),
      })
    }
    expect((await (await server.fetch('/server')).json()) as object).toMatchObject({ has: { shards: false } })
  })

  test('describes exactly the routes, methods and parameters that it has, in a valid document', async () => {
    const document = (await (await server.fetch('/openapi.json')).json()) as ApiDocument
    expect(await new Validator().validate({ ...structuredClone(document) })).toMatchObject({ valid: true })
    const served = routes.flatMap(({ pattern, methods }) =>
      Object.entries(methods).map(([method, { parameters = [] }]) => `${method} ${pattern} ${[...parameters].sort()}`),
    )
    expect(served).toHaveLength(5)
    const documented = Object.entries(document.paths)
      .filter(([path]) => routes.some(({ pattern }) => pattern === path))
      .flatMap(([path, operations]) =>
        Object.entries(operations).map(
          ([method, { parameters = [] }]) => `${method.toUpperCase()} ${path} ${queryNames(document, parameters)}`,
        ),
      )
    expect(documented.sort()).toEqual(served.sort())
  })

  test('refuses a caller without any rights before it reads the body', async () => {
    for (const route of ['POST /sql', 'POST /global']) {
      const socket = await openSocket(guarded.port)
      let received = ''
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        received += chunk
      })
      // None of the body is ever sent.
      socket.write(`${route} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n`)
      await until(() => parseAnswer(received, false) !== undefined)
      socket.destroy()
      expect(parseAnswer(received, false)!.status, route).toBe(401)
      expect(received, route).not.toContain('100 Continue')
    }
  })
})

function queryNames({ components }: ApiDocument, parameters: readonly { readonly $ref: string }[]): readonly string[] {
  return parameters
    .map(({ $ref }) => components.parameters[$ref.split('/').at(-1)!]!)
    .filter(({ in: place }) => place === 'query')
    .map(({ name }) => name)
    .sort()
}
