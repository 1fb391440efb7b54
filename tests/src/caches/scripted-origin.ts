/** An origin that answers as a test says, and records the requests. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

export interface ScriptedOrigin {
  readonly url: string
  readonly asked: Asked[]
  /** The current version: the body of every answer, and its ETag. */
  version: number
  /** The delays of the next answers, in turn, after the version in them was read; then none. */
  readonly delaysMs: number[]
  /** The headers of every answer. */
  headers: Readonly<Record<string, string>>
  stop(): Promise<void>
  /** Restarts at the same address. */
  restart(): Promise<void>
}

export async function startScriptedOrigin(headers: Readonly<Record<string, string>>): Promise<ScriptedOrigin> {
  const server = createServer(async (request, response) => {
    if (request.url === '/live') return void response.end()
    origin.asked.push({ method: request.method!, url: request.url!, headers: request.headers })
    const { version } = origin
    await delay(origin.delaysMs.shift() ?? 0)
    const etag = `"${version}"`
    const isKnown = request.headers['if-none-match'] === etag
    response.writeHead(isKnown ? 304 : 200, { ...origin.headers, ETag: etag })
    response.end(isKnown ? undefined : `${version}`)
  })
  const listen = (port: number) => new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const { port } = server.address() as AddressInfo
  const origin: ScriptedOrigin = {
    url: `http://127.0.0.1:${port}`,
    restart: () => listen(port),
    asked: [],
    version: 1,
    delaysMs: [],
    headers,
    stop: () => {
      server.closeAllConnections()
      return new Promise(resolve => server.close(() => resolve()))
    },
  }
  return origin
}
