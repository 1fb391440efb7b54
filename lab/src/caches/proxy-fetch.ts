/** `fetch` through a forward proxy, which Node's own `fetch` cannot use. Supports only what the client needs. */
import { Agent, type IncomingMessage, request } from 'node:http'
import { Readable } from 'node:stream'
import type { Fetch } from '@freshet/client'

export function createProxyFetch(proxyUrl: string): Fetch {
  const { hostname, port } = new URL(proxyUrl)
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  return (url, init) =>
    new Promise((resolve, reject) => {
      const { host } = new URL(url)
      const headers = { host, ...(init.headers as Record<string, string>), ...cacheHeaders(init.cache) }
      const { signal } = init
      const sent = request(
        {
          agent,
          host: hostname,
          port,
          method: init.method ?? 'GET',
          path: url,
          headers,
          ...(signal ? { signal } : {}),
        },
        reply => resolve(toResponse(reply)),
      )
      sent.once('error', cause => reject(new TypeError('fetch failed', { cause })))
      sent.end(init.body as string | Uint8Array | undefined)
    })
}

/** The headers that the cache modes of the Fetch standard add, "HTTP-network-or-cache fetch", step 8. */
function cacheHeaders(cache: RequestCache | undefined): Record<string, string> {
  return cache === 'reload' || cache === 'no-store' ? { 'cache-control': 'no-cache', pragma: 'no-cache' } : {}
}

const WITHOUT_BODY = [204, 304]

function toResponse(reply: IncomingMessage): Response {
  const headers = new Headers()
  for (const [name, values] of Object.entries(reply.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value)
  }
  const status = reply.statusCode!
  if (WITHOUT_BODY.includes(status)) reply.resume()
  const body = WITHOUT_BODY.includes(status) ? null : (Readable.toWeb(reply) as ReadableStream)
  return new Response(body, { status, headers })
}
