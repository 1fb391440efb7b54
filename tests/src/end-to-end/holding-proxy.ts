/** A proxy between a cache and a server: passes everything on, and can hold answers back, like a slow network. */
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface HoldingProxy {
  readonly url: string
  /** Whether to hold back the answers to requests that arrive now. */
  holds: boolean
  /** How many answers are held back. */
  readonly held: number
  /** Passes on the held answers. */
  release(): void
  /** The URLs of all requests. */
  readonly asked: readonly string[]
  stop(): Promise<void>
}

export async function startHoldingProxy(origin: string): Promise<HoldingProxy> {
  const asked: string[] = []
  const held: (() => void)[] = []
  const server = createServer((request, response) => {
    const { method, url = '/', headers } = request
    asked.push(url)
    const { holds } = proxy
    const onward = httpRequest(origin + url, { method, headers, agent: false }, answer => {
      const pass = () => {
        response.writeHead(answer.statusCode!, answer.rawHeaders)
        answer.pipe(response)
      }
      if (holds) held.push(pass)
      else pass()
    })
    onward.on('error', () => response.destroy())
    request.pipe(onward)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const proxy: HoldingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    holds: false,
    get held() {
      return held.length
    },
    release: () => {
      for (const pass of held.splice(0)) pass()
    },
    asked,
    stop: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return proxy
}
