/** For tests: an HTTP server that records its requests, and answers like a cache or a service. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface StandInAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface StandIn {
  readonly url: string
  readonly asked: readonly Asked[]
  /** Replaces its answer: a status, or no answer at all. */
  trouble: number | 'cut' | undefined
  stop(): Promise<void>
}

export async function startStandIn(answer: (asked: Asked) => StandInAnswer, port = 0): Promise<StandIn> {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const { method = '', url = '', headers } = request
    const each = { method, url, headers, body }
    asked.push(each)
    const { trouble } = standIn
    if (trouble === 'cut') {
      request.socket.destroy()
      return
    }
    const given = typeof trouble === 'number' ? { status: trouble, body: 'trouble' } : answer(each)
    response.writeHead(given.status, given.headers ?? {}).end(given.body ?? '')
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  const standIn: StandIn = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    trouble: undefined,
    stop: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return standIn
}
