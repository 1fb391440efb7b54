/** A counter of Freshet, incremented over plain HTTP with an Idempotency-Key; attempts go to the servers in turn. */
import { Agent, request } from 'node:http'
import type { Incrementer } from './increments.js'

const BUCKET = '/db/lab/increments'

export async function createServedCounter(url: string): Promise<void> {
  const { status, text } = await send(url, 'PUT', BUCKET, '{"kind":"counter"}', {}, 30_000)
  if (status >= 300) throw new Error(`The bucket was not created: ${text}`)
}

export function connectToServed(urls: readonly string[], name: string, client: number, timeoutMs: number): Incrementer {
  const agent = new Agent({ keepAlive: true, maxSockets: urls.length })
  return {
    increment: async (operation, attempt) => {
      const url = urls[(client + attempt) % urls.length]!
      const headers = { 'Idempotency-Key': `${name}-${operation}` }
      const { status, text, isReplayed } = await send(
        url,
        'POST',
        `${BUCKET}/${name}`,
        '{"add":1}',
        headers,
        timeoutMs,
        agent,
      )
      if (status === 200) return isReplayed ? 'replayed' : 'done'
      if (text.includes('OPERATION_IN_PROGRESS')) return 'later'
      throw new Error(`${status}: ${text}`)
    },
    close: async () => agent.destroy(),
  }
}

export async function readServed(url: string, name: string): Promise<number> {
  const { status, text } = await send(url, 'GET', `${BUCKET}/${name}`, '', { 'Cache-Control': 'no-cache' }, 30_000)
  if (status !== 200) throw new Error(`The counter was not read: ${status} ${text}`)
  return JSON.parse(text)
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly isReplayed: boolean
}

function send(
  url: string,
  method: string,
  path: string,
  body: string,
  more: Readonly<Record<string, string>>,
  timeoutMs: number,
  agent?: Agent,
): Promise<Answer> {
  const content = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  const headers = { ...(method === 'GET' ? {} : content), ...more }
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs)
    const outgoing = request(url + path, { method, headers, signal, ...(agent && { agent }) }, incoming => {
      let text = ''
      incoming.setEncoding('utf8').on('data', part => {
        text += part
      })
      incoming.once('error', reject)
      incoming.once('end', () => {
        const isReplayed = incoming.headers['idempotency-replayed'] === 'true'
        resolve({ status: incoming.statusCode!, text, isReplayed })
      })
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}
