/** One request over a kept connection, sent exactly as spelt, and its answer without the parts that differ each time. */
import { type Agent, type IncomingMessage, request } from 'node:http'
import type { DoorRequest } from './door-requests.js'

export interface DoorAnswer {
  readonly status: number
  /** Headers and body, for comparison. */
  readonly text: string
}

/** Headers of the request, or of the connection. */
const OF_THE_REQUEST = new Set(['date', 'x-request-id', 'connection', 'keep-alive', 'transfer-encoding'])
const ANSWER_MS_MAX = 10_000

/** Status 0: the connection was closed without an answer. */
export function ask(agent: Agent, port: number, { method, path, headers, body }: DoorRequest): Promise<DoorAnswer> {
  return new Promise(resolve => {
    const asked = request({ agent, port, host: '127.0.0.1', method, path, headers: withLength(headers, body) })
    const fail = () => resolve({ status: 0, text: '' })
    asked.setTimeout(ANSWER_MS_MAX, () => asked.destroy())
    asked.on('response', response => {
      // An event stream never ends.
      if (response.headers['content-type']?.startsWith('text/event-stream')) {
        resolve({ status: response.statusCode!, text: headersOf(response) })
        asked.destroy()
        return
      }
      read(response).then(text => resolve({ status: response.statusCode!, text: headersOf(response) + text }), fail)
    })
    asked.on('error', fail)
    asked.end(body)
  })
}

function withLength(headers: DoorRequest['headers'], body: string): Record<string, string | number> {
  return body === '' ? { ...headers } : { ...headers, 'content-length': Buffer.byteLength(body) }
}

function headersOf({ rawHeaders, statusCode }: IncomingMessage): string {
  let text = `${statusCode}\n`
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!OF_THE_REQUEST.has(rawHeaders[i]!.toLowerCase())) text += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\n`
  }
  return text
}

async function read(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('latin1')) text += chunk as string
  return text.replace(/"requestId":"[^"]*"/, '')
}
