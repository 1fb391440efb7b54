/** One HTTP request with a short answer, over keep-alive connections. */
import { type IncomingMessage, type RequestOptions, request } from 'node:http'

export interface TextReply {
  readonly status: number
  readonly body: string
  /** The answer of an earlier request with the same id. */
  readonly isReplayed: boolean
}

/** Rejects if no complete answer arrives. */
export function requestText(url: string, options: RequestOptions, body: string): Promise<TextReply> {
  return new Promise((resolve, reject) => {
    const content = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
    const headers = { ...(options.method === 'GET' ? {} : content), ...options.headers }
    const outgoing = request(url, { ...options, headers }, incoming => readText(incoming).then(resolve, reject))
    outgoing.once('error', reject)
    outgoing.once('timeout', () => outgoing.destroy(new Error('The server did not answer in time.')))
    outgoing.end(body)
  })
}

async function readText(incoming: IncomingMessage): Promise<TextReply> {
  let body = ''
  for await (const part of incoming.setEncoding('utf8')) body += part
  const isReplayed = incoming.headers['idempotency-replayed'] === 'true'
  return { status: incoming.statusCode!, body, isReplayed }
}
