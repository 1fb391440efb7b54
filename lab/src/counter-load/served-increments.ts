/** A counter of Freshet, incremented over plain HTTP with an Idempotency-Key; attempts go to the servers in turn. */
import { Agent, type RequestOptions } from 'node:http'
import type { Incrementer } from './increments.js'
import { requestText, type TextReply } from './request-text.js'

const BUCKET = '/db/lab/increments'
const TIMEOUT_MS = 30_000

export async function createServedCounter(url: string): Promise<void> {
  const { status, body } = await send(url + BUCKET, { method: 'PUT', timeoutMs: TIMEOUT_MS }, '{"kind":"counter"}')
  if (status >= 300) throw new Error(`The server did not create the bucket: ${body}`)
}

export function connectToServed(urls: readonly string[], name: string, client: number, timeoutMs: number): Incrementer {
  const agent = new Agent({ keepAlive: true, maxSockets: urls.length })
  return {
    increment: async (operation, attempt) => {
      const url = urls[(client + attempt) % urls.length]!
      const headers = { 'Idempotency-Key': `${name}-${operation}` }
      const options = { method: 'POST', headers, timeoutMs, agent }
      const { status, body, isReplayed } = await send(`${url}${BUCKET}/${name}`, options, '{"add":1}')
      if (status === 200) return isReplayed ? 'replayed' : 'done'
      if (body.includes('OPERATION_IN_PROGRESS')) return 'later'
      throw new Error(`${status}: ${body}`)
    },
    close: async () => agent.destroy(),
  }
}

export async function readServed(url: string, name: string): Promise<number> {
  const options = { method: 'GET', headers: { 'Cache-Control': 'no-cache' }, timeoutMs: TIMEOUT_MS }
  const { status, body } = await send(`${url}${BUCKET}/${name}`, options)
  if (status !== 200) throw new Error(`The server did not return the counter: ${status} ${body}`)
  return JSON.parse(body)
}

function send(path: string, options: RequestOptions & { readonly timeoutMs: number }, body = ''): Promise<TextReply> {
  const { timeoutMs, ...request } = options
  return requestText(path, { ...request, signal: AbortSignal.timeout(timeoutMs) }, body)
}
