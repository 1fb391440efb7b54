/** Raw requests: nothing added, nothing decoded, any method; so that a probe sees what a cache did to the answer. */
import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { FreshetError } from '@freshet/protocol'

export interface ProbeRequest {
  readonly method?: string
  /** Path and query. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The request continues when the doctor is stopped: for writes, so that their outcome is known, and for removals. */
  readonly outlivesStop?: boolean
  /** Use a new connection, as another reader would; a load balancer may route it elsewhere. */
  readonly isFromElsewhere?: boolean
}

export interface ProbeAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly tookMs: number
}

export interface Endpoint {
  readonly url: string
  /** Rejects with REQUEST_FAILED if no complete answer arrives. */
  send(request: ProbeRequest): Promise<ProbeAnswer>
  /** The answer's headers, and its body as it arrives. */
  open(request: ProbeRequest): Promise<IncomingMessage>
  close(): void
}

const TIMEOUT_MS = 15_000
/** Shorter than the five seconds for which Varnish keeps an idle connection, so that no connection is used while it closes. */
const IDLE_MS = 3000
const CONNECTIONS_MAX = 16

export function createEndpoint(url: string, signal: AbortSignal): Endpoint {
  const isSecure = url.startsWith('https:')
  const agent = new (isSecure ? HttpsAgent : HttpAgent)({
    keepAlive: true,
    timeout: IDLE_MS,
    maxSockets: CONNECTIONS_MAX,
  })

  function open({ method = 'GET', target, headers = {}, body, outlivesStop, isFromElsewhere }: ProbeRequest) {
    return new Promise<IncomingMessage>((resolve, reject) => {
      const length = body === undefined ? {} : { 'Content-Length': `${Buffer.byteLength(body)}` }
      const options = {
        method,
        headers: { ...headers, ...length },
        agent: isFromElsewhere ? (false as const) : agent,
        ...(outlivesStop ? {} : { signal }),
      }
      const request = (isSecure ? httpsRequest : httpRequest)(url + target, options, resolve)
      const timer = setTimeout(() => request.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)), TIMEOUT_MS)
      request.once('close', () => clearTimeout(timer))
      request.on('error', reject)
      request.end(body)
    })
  }

  async function send(request: ProbeRequest): Promise<ProbeAnswer> {
    const beganMs = performance.now()
    try {
      const answer = await open(request)
      const chunks: Buffer[] = []
      for await (const chunk of answer) chunks.push(chunk as Buffer)
      const tookMs = performance.now() - beganMs
      return { status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks), tookMs }
    } catch (cause) {
      const what = `${request.method ?? 'GET'} ${url}${request.target}`
      throw new FreshetError('REQUEST_FAILED', `${what} got no answer: ${(cause as Error).message}.`, { cause })
    }
  }

  return { url, send, open, close: () => agent.destroy() }
}

export function headerOf({ headers }: Pick<ProbeAnswer, 'headers'>, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}
