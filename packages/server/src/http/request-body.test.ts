/** Bodies in pieces, many at once and slow: how much memory one sender can make the server hold. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createMemoryStore } from '@freshet/engines/memory'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSocket, parseAnswer, type RunningServer, sendRaw, startServer, until } from '../testing/running-server.js'

const MIB = 1024 * 1024
let running: RunningServer
let sockets: Socket[] = []

beforeEach(async () => {
  running = await startServer({
    store: createMemoryStore({ positionsAfter: 0 }),
    settings: { bodyBytesMax: MIB, commitBodyBytesMax: MIB, receivedBytesMax: 4 * MIB, bodyBytesPerSMin: 1000 },
    trustedProxies: ['127.0.0.1'],
  })
})
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  sockets = []
  await running.stop()
})

/** Sends the head of a PUT from this address, and returns the connection. */
async function beginPut(from: string, headers: readonly string[]): Promise<Socket> {
  const socket = await openSocket(running.port)
  sockets.push(socket.on('error', () => undefined))
  const lines = [`PUT /db/shop/files/${sockets.length} HTTP/1.1`, 'Host: localhost', `X-Forwarded-For: ${from}`]
  socket.write(`${[...lines, 'Content-Type: application/json', ...headers].join('\r\n')}\r\n\r\n`)
  return socket
}

async function answerOf(socket: Socket): Promise<number> {
  let received = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk
  })
  await until(() => parseAnswer(received, false) !== undefined)
  return parseAnswer(received, false)!.status
}

async function write(socket: Socket, bytes: string | Buffer): Promise<void> {
  if (!socket.write(bytes)) await Promise.race([once(socket, 'drain'), once(socket, 'close')])
}

function held(): number {
  const family = running.server.readMetrics().find(({ name }) => name === 'freshet_bodies_held_bytes')
  return family!.lines[0]![1]
}

test('a body in pieces of a byte each is refused before they take any memory', async () => {
  setFlagsFromString('--expose_gc')
  const collect = runInNewContext('gc') as () => void
  const used = () => {
    collect()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const before = used()
  const socket = await beginPut('10.0.0.1', ['Transfer-Encoding: chunked'])
  const answered = answerOf(socket)
  const piece = Buffer.from('1\r\nx\r\n'.repeat(10_000))
  for (let sent = 0; sent < 300_000 && !socket.destroyed; sent += 10_000) await write(socket, piece)
  expect(await answered).toBe(413)
  expect((used() - before) / MIB).toBeLessThan(10)
})

test('a body in larger pieces is stored as it was sent', async () => {
  const value = JSON.stringify({ text: 'x'.repeat(200_000), end: 'é' })
  const socket = await beginPut('10.0.0.1', ['Transfer-Encoding: chunked'])
  const bytes = Buffer.from(value)
  for (let at = 0; at < bytes.length; at += 777) {
    const piece = bytes.subarray(at, at + 777)
    await write(socket, Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]))
  }
  await write(socket, '0\r\n\r\n')
  expect(await answerOf(socket)).toBe(201)
  expect(await (await running.fetch('/db/shop/files/1')).text()).toBe(value)
  await until(() => held() === 0)
})

test('an address may hold no more memory than is free, and bodies from other addresses are still received', async () => {
  const length = MIB - 100
  const almost = Buffer.alloc(length - 1, ' ')
  const refused: number[] = []
  // Four bodies would fit if the address could use all the memory.
  for (let i = 0; i < 4; i++) {
    const socket = await beginPut('10.0.0.1', [`Content-Length: ${length}`])
    const answered = answerOf(socket).then(
      status => refused.push(status),
      () => undefined,
    )
    const before = held()
    await write(socket, almost)
    await Promise.race([answered, until(() => held() >= before + length)])
  }
  expect(refused).toEqual([503, 503])
  expect(held()).toBeLessThanOrEqual(2 * MIB)
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': '10.0.0.2' }
  const answer = await running.fetch('/db/shop/files/a', { method: 'PUT', headers, body: '{"a":1}' })
  expect(answer.status).toBe(201)
  for (const socket of sockets) socket.destroy()
  await until(() => held() === 0)
})

test('a sender that stops halfway is refused, and its memory is freed', async () => {
  const socket = await beginPut('10.0.0.1', ['Content-Length: 100000'])
  const answered = answerOf(socket)
  await write(socket, Buffer.alloc(50_000, ' '))
  await until(() => held() > 0)
  expect(await answered).toBe(408)
  await until(() => held() === 0)
})

test('a body with too many members is refused, and so is one that is nested too deeply', async () => {
  const put = (body: string) => {
    const head = `PUT /db/shop/files/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n`
    return sendRaw(running.port, head + body)
  }
  const list = (count: number) => `{"a":[${'{},'.repeat(count)}1]}`
  const { status, body } = await put(list(100_001))
  expect([status, JSON.parse(body).code]).toEqual([400, 'BODY_INVALID'])
  expect((await put(list(90_000))).status).toBe(201)
})
