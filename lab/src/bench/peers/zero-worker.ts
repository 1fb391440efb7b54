/**
 * Zero in one process: a zero-cache over PostgreSQL, the endpoint that it asks for the queries of an application, and a client that
 * shows one query. It measures how long after a write by SQL the client shows it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { freePort } from '@freshet/engines/under-test/free-port'
import { openVisibleWrites, type Shown, type VisibleWorker } from './visible-writes.js'

export interface ZeroSettings {
  readonly kind: 'zero'
  /** The folder with the package's `node_modules`. */
  readonly installed: string
  readonly postgresUrl: string
  readonly replicaFile: string
}

/** What this process uses of Zero, which is not a dependency of this repository. */
interface ZeroModule {
  table(name: string): { columns(of: object): { primaryKey(name: string): object } }
  string(): object
  number(): object
  createSchema(of: { readonly tables: readonly object[] }): object
  createBuilder(schema: object): { readonly products: object }
  defineQuery(query: () => object): unknown
  defineQueries<Queries>(queries: Queries): { readonly products: { all(): object } }
  mustGetQuery(queries: object, name: string): { fn(of: { readonly args: unknown }): object }
  readonly Zero: new (options: object) => ZeroClient
}

interface ZeroClient {
  materialize(query: object): { addListener(show: (rows: readonly Product[]) => void): void }
}

interface ZeroServerModule {
  handleQueryRequest(of: object): Promise<object>
}

interface Product {
  readonly id: string
  readonly n: number
}

const USER = 'reader'
const ANSWER_MS_MAX = 30_000
const STOP_MS_MAX = 5000

export async function openZero(settings: ZeroSettings): Promise<VisibleWorker> {
  const { installed, postgresUrl, replicaFile } = settings
  const require = createRequire(join(installed, 'package.json'))
  const load = async (path: string) => import(pathToFileURL(require.resolve(path)).href)
  const zero = (await load('@rocicorp/zero')) as ZeroModule
  const { handleQueryRequest } = (await load('@rocicorp/zero/server')) as ZeroServerModule
  const columns = { id: zero.string(), n: zero.number() }
  const schema = zero.createSchema({ tables: [zero.table('products').columns(columns).primaryKey('id')] })
  const builder = zero.createBuilder(schema)
  const queries = zero.defineQueries({ products: { all: zero.defineQuery(() => builder.products) } })
  const queryUrl = await serveQueries(request =>
    handleQueryRequest({
      ...{ schema, userID: USER, request },
      handler: (name: string, args: unknown) => zero.mustGetQuery(queries, name).fn({ args }),
    }),
  )
  const cacheURL = await startZeroCache(join(installed, 'node_modules/.bin/zero-cache'), {
    ZERO_UPSTREAM_DB: postgresUrl,
    ZERO_REPLICA_FILE: replicaFile,
    ZERO_QUERY_URL: queryUrl,
  })
  const client = new zero.Zero({ cacheURL, schema, queries, userID: USER, kvStore: 'mem', logLevel: 'error' })
  return openVisibleWrites(postgresUrl, shownBy(client.materialize(queries.products.all())))
}

function shownBy(view: ReturnType<ZeroClient['materialize']>): Shown {
  let newest = -1
  let wake = () => {}
  view.addListener(rows => {
    newest = Math.max(newest, ...rows.map(({ n }) => n))
    wake()
  })
  return async n => {
    while (newest < n) {
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
}

async function serveQueries(answer: (request: Request) => Promise<object>): Promise<string> {
  const server = createServer((request, response) => {
    asRequest(request)
      .then(answer)
      .then(
        result => response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(result)),
        (error: Error) => response.writeHead(500).end(error.message),
      )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/queries`
}

async function asRequest(request: IncomingMessage): Promise<Request> {
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as [string, string])
  const body = await buffer(request)
  return new Request(`http://127.0.0.1${request.url}`, { method: request.method!, headers, body })
}

async function startZeroCache(program: string, settings: NodeJS.ProcessEnv): Promise<string> {
  const port = await freePort()
  const own = { NODE_ENV: 'development', ZERO_PORT: `${port}`, ZERO_LOG_LEVEL: 'error', ZERO_NUM_SYNC_WORKERS: '1' }
  const env = { ...process.env, ...own, ...settings, ZERO_ENABLE_TELEMETRY: 'false', DO_NOT_TRACK: '1' }
  const child = spawn(process.execPath, [program], { env, stdio: 'ignore' })
  endWith(child)
  const url = `http://127.0.0.1:${port}`
  const deadlineMs = performance.now() + ANSWER_MS_MAX
  while (!(await answers(url))) {
    if (child.exitCode !== null || performance.now() > deadlineMs) throw new Error('zero-cache did not start.')
    await delay(100)
  }
  return url
}

/** A zero-cache that is asked to end takes its own processes along; one that loses its parent does not. */
function endWith(child: ChildProcess): void {
  process.once('SIGTERM', () => {
    child.once('exit', () => process.exit())
    child.kill()
    setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
  })
  process.once('exit', () => child.kill())
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok
  } catch {
    // Not yet: the caller asks again until its deadline.
    return false
  }
}
