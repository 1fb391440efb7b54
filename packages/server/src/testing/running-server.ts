/** For tests: a server on a free port, and ways to send it requests without any corrections. */
import { connect, type Socket } from 'node:net'
import type { Store } from '@freshet/core/store'
import type { Problem, WriteAnswer } from '@freshet/protocol'
import { createFreshetServer, type FreshetServer, type FreshetServerOptions } from '../freshet-server.js'

export interface RunningServer {
  readonly server: FreshetServer
  readonly store: Store
  readonly url: string
  readonly port: number
  fetch(path: string, init?: RequestInit): Promise<Response>
  put(path: string, value: unknown, headers?: Record<string, string>): Promise<WriteAnswer>
  stop(): Promise<void>
}

export async function startServer(options: FreshetServerOptions): Promise<RunningServer> {
  const server = createFreshetServer(options)
  const { url, port } = await server.listen({ port: 0 })
  const ask = (path: string, init: RequestInit = {}) => fetch(url + path, { redirect: 'manual', ...init })
  return {
    server,
    store: options.store,
    url,
    port,
    fetch: ask,
    put: async (path, value, headers = {}) => {
      const response = await ask(path, jsonRequest('PUT', value, headers))
      if (!response.ok) throw new Error(`PUT ${path}: ${response.status} ${await response.text()}`)
      return (await response.json()) as WriteAnswer
    },
    stop: () => server.close({ graceMs: 100 }),
  }
}

export function jsonRequest(method: string, value: unknown, headers: Record<string, string> = {}): RequestInit {
  return { method, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) }
}

export async function problemOf(response: Response): Promise<Problem> {
  return (await response.json()) as Problem
}

export interface RawAnswer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** Sends bytes unchanged, and reads one answer: by its Content-Length, or until the connection ends. */
export function sendRaw(port: number, request: string | Buffer, timeoutMs = 30_000): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    const timer = setTimeout(() => finish(new Error('no answer in time')), timeoutMs)
    let received = ''
    const finish = (error?: Error) => {
      clearTimeout(timer)
      socket.destroy()
      const answer = parseAnswer(received, true)
      if (answer) resolve(answer)
      else reject(error ?? new Error(`no whole answer: ${JSON.stringify(received.slice(0, 200))}`))
    }
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      received += chunk
      if (parseAnswer(received, false)) finish()
    })
    socket.on('end', () => finish()).on('error', finish)
    socket.write(request)
  })
}

export function parseAnswer(received: string, isOver: boolean): RawAnswer | undefined {
  const end = received.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const [first = '', ...lines] = received.slice(0, end).split('\r\n')
  const status = Number(first.split(' ')[1])
  if (status === 100) return parseAnswer(received.slice(end + 4), isOver)
  const headers = new Map(
    lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const length = Number(headers.get('content-length') ?? (status === 204 || status === 304 ? 0 : Number.NaN))
  const body = received.slice(end + 4)
  if (!isOver && !(body.length >= length)) return undefined
  return { status, headers, body: Number.isNaN(length) ? body : body.slice(0, length) }
}

/** Waits for a condition, with a deadline instead of a sleep. */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 30_000): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error('The condition did not become true in time.')
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

export function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.once('error', reject)
  })
}
