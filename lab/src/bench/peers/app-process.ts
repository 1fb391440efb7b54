/**
 * A small application over PostgreSQL, in its own process: GET and PUT of /products/ID. With `cache-aside` it keeps rows in Redis
 * and invalidates them by hand; with `freshet` it is a client of a Freshet server and keeps objects in the client's memory. The
 * settings come as JSON in the only argument.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type ConnectOptions, connect } from '@freshet/client'
import { type CacheAsideOptions, openCacheAside } from './cache-aside.js'

export type AppSettings =
  | ({ readonly kind: 'cache-aside' } & Omit<CacheAsideOptions, 'beforeFill'>)
  | ({ readonly kind: 'freshet'; readonly url: string } & FreshetOptions)

export type FreshetOptions = Required<Pick<ConnectOptions, 'read' | 'refresh'>>

/** What the application needs of either. */
interface Products {
  read(id: string): Promise<string | undefined>
  write(id: string, body: string): Promise<void>
}

const settings = JSON.parse(process.argv[2]!) as AppSettings
const products = settings.kind === 'freshet' ? await openFreshet(settings) : await openCacheAside(settings)

const server = createServer((request, response) => {
  answer(request, response).catch((error: Error) => {
    response.writeHead(500).end(error.message)
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
process.once('SIGTERM', () => process.exit())

async function openFreshet({ url, read, refresh }: Extract<AppSettings, { kind: 'freshet' }>): Promise<Products> {
  const db = await connect(url, { read, refresh })
  const bucket = db.bucket('shop/products')
  return {
    async read(id) {
      const product = await bucket.get(id)
      return product && JSON.stringify(product)
    },
    async write(id, body) {
      await bucket.put(id, JSON.parse(body))
    },
  }
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const id = request.url!.slice('/products/'.length)
  if (request.method === 'PUT') {
    await products.write(id, await text(request))
    response.writeHead(204).end()
    return
  }
  const body = await products.read(id)
  if (body === undefined) response.writeHead(404).end()
  else response.writeHead(200, { 'Content-Type': 'application/json' }).end(body)
}
