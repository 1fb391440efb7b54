/**
 * Requests to caches, with persistent connections, a deadline, a bounded answer, and a Host header that may differ from the
 * address.
 */
import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'

export interface HttpCall {
  readonly method: string
  readonly url: string
  /** Replaces the address in the Host header. */
  readonly host?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The start of the body. */
  readonly body: string
}

const TIMEOUT_MS = 10_000
const BODY_LENGTH_MAX = 10_000
/** Varnish closes idle connections after five seconds. Closing them earlier avoids using one that is being closed. */
const CONNECTIONS = { keepAlive: true, maxSockets: 16, timeout: 3000 }

export class Requests {
  readonly #http = new HttpAgent(CONNECTIONS)
  readonly #https = new HttpsAgent(CONNECTIONS)
  readonly #underWay = new Set<ClientRequest>()

  /** Rejects if no complete answer arrives in time. */
  send({ method, url, host, headers = {}, body }: HttpCall): Promise<HttpAnswer> {
    const isSecure = url.startsWith('https:')
    const options = {
      method,
      agent: isSecure ? this.#https : this.#http,
      headers: {
        ...headers,
        ...(host === undefined ? {} : { Host: host }),
        ...(body === undefined ? {} : { 'Content-Length': `${Buffer.byteLength(body)}` }),
      },
    }
    return new Promise((resolve, reject) => {
      const request = (isSecure ? httpsRequest : httpRequest)(url, options, response => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          if (text.length < BODY_LENGTH_MAX) text += chunk
        })
        response.on('error', reject)
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }))
      })
      this.#watch(request)
      request.on('error', reject)
      request.end(body)
    })
  }

  close(): void {
    for (const request of this.#underWay) request.destroy(new Error('The server is stopping.'))
    this.#http.destroy()
    this.#https.destroy()
  }

  #watch(request: ClientRequest): void {
    this.#underWay.add(request)
    const late = () => request.destroy(new Error(`No answer arrived within ${TIMEOUT_MS} ms.`))
    const timer = setTimeout(late, TIMEOUT_MS)
    request.once('close', () => {
      clearTimeout(timer)
      this.#underWay.delete(request)
    })
  }
}
