import { createMemoryStore } from '@freshet/engines/memory'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openSocket, type RunningServer, startServer, until } from '../../testing/running-server.js'

let running: RunningServer
const sockets: Awaited<ReturnType<typeof openSocket>>[] = []

beforeEach(async () => {
  running = await startServer({ store: createMemoryStore() })
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await running.stop()
})

const MOMENT_MS = 1000

/** Sends two requests over one connection, a moment apart. Returns the names of the headers of each answer. */
async function headersOfTwo(more = ''): Promise<string[][]> {
  for (;;) {
    const startMs = performance.now()
    const answers = await headersOf(2, more)
    if (performance.now() - startMs < MOMENT_MS) return answers
  }
}

async function headersOf(count: number, more: string): Promise<string[][]> {
  const socket = await openSocket(running.port)
  sockets.push(socket)
  let received = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk
  })
  const answers: string[][] = []
  while (answers.length < count) {
    received = ''
    socket.write(`GET /coherence?after=0 HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`)
    await until(() => received.endsWith('}'))
    const head = received.slice(0, received.indexOf('\r\n\r\n')).split('\r\n').slice(1)
    answers.push(head.map(line => line.slice(0, line.indexOf(':'))))
  }
  return answers
}

describe('a head', () => {
  const NEEDED = ['Content-Type', 'Cache-Control', 'Content-Length']

  test('tells a new connection how long it is kept open, and does not repeat that a moment later', async () => {
    const [first, second] = await headersOfTwo()
    expect(first).toEqual([...NEEDED, 'Date', 'Connection', 'Keep-Alive'])
    expect(second).toEqual([...NEEDED, 'Date'])
  })

  test('can be read by pages of other origins', async () => {
    const [, second] = await headersOfTwo('Origin: http://shop.localhost\r\n')
    expect(second).toEqual([...NEEDED, 'Access-Control-Allow-Origin', 'Date'])
  })

  test('depends on the origin if only some origins may read it', async () => {
    await running.stop()
    running = await startServer({
      store: createMemoryStore(),
      settings: { corsOrigins: ['https://shop.example'] },
    })
    const [, allowed] = await headersOfTwo('Origin: https://shop.example\r\n')
    expect(allowed).toEqual([...NEEDED, 'Access-Control-Allow-Origin', 'Vary', 'Date'])
    const [, other] = await headersOfTwo('Origin: https://other.example\r\n')
    expect(other).toEqual([...NEEDED, 'Vary', 'Date'])
  })

  test('is returned to HEAD as well', async () => {
    const answer = await running.fetch('/coherence', { method: 'HEAD' })
    expect([answer.status, await answer.text()]).toEqual([200, ''])
    expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(100)
  })
})
