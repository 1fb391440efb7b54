/** Tries to exhaust a server's memory, with bodies in a million pieces, endless bodies, and JSON with a million members. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { tokensOfRoles } from './twin-servers.js'

export interface MemoryOutcome {
  /** The largest growth of the process, and its growth at the end. */
  readonly growthMiB: number
  readonly lastingMiB: number
  readonly attacks: readonly { readonly name: string; readonly growthMiB: number }[]
  /** The status that a client from another address got while bodies that never end were under way. */
  readonly othersStatus: number
}

const MIB = 1024 * 1024
const PROCESS = fileURLToPath(new URL('./memory-process.js', import.meta.url))
const LOOK_MS = 20
const ORDINARY = '{"writes":[{"path":"/db/acme/notes/1","value":{"n":1}}]}'
/** After an attack, memory is released while ordinary work continues. */
const ORDINARY_REQUESTS = 2000
const CONNECTIONS = 100

/** `pieces`: the number of pieces sent over one connection. */
export async function exhaustMemory(pieces: number): Promise<MemoryOutcome> {
  const child = spawn(process.execPath, [PROCESS], { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const port = Number(line.toString())
    const { tenant } = await tokensOfRoles()
    return await attack(child, port, `Authorization: Bearer ${tenant}`, pieces)
  } finally {
    child.stdin.end()
    if (child.exitCode === null) await once(child, 'exit')
  }
}

async function attack(child: ChildProcess, port: number, tenant: string, pieces: number): Promise<MemoryOutcome> {
  // Warms up, so that memory that any work needs is allocated before the measurement.
  for (let i = 0; i < 3; i++) await send(port, [tenant], '/commit', wholeBody(MIB))
  const attacks: { name: string; growthMiB: number }[] = []
  const start = residentMiB(child)
  const measured = async (name: string, action: () => Promise<unknown>) => {
    const before = residentMiB(child)
    let peak = before
    const look = setInterval(() => {
      peak = Math.max(peak, residentMiB(child))
    }, LOOK_MS)
    await action().finally(() => clearInterval(look))
    attacks.push({ name, growthMiB: round(Math.max(peak, residentMiB(child)) - before) })
  }
  let othersStatus = 0
  await measured('anonymous, one-byte chunks', () => sendPieces(port, [], '/commit', pieces))
  await measured('tenant, one-byte chunks', () => sendPieces(port, [tenant], '/commit', pieces))
  await measured('tenant, a million members', () =>
    send(port, [tenant], '/commit', Buffer.from(`{"writes":[${'{},'.repeat(2_500_000)}{}]}`)),
  )
  await measured('tenant, bodies that never end', async () => {
    const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => sendUnended(port, tenant)))
    othersStatus = await send(port, [tenant], '/commit', Buffer.from(ORDINARY), '127.0.0.2')
    for (const socket of sockets) socket.destroy()
  })
  for (let i = 0; i < ORDINARY_REQUESTS; i++) await send(port, [tenant], '/commit', Buffer.from(ORDINARY))
  const lastingMiB = round(residentMiB(child) - start)
  return { growthMiB: Math.max(...attacks.map(each => each.growthMiB), lastingMiB), lastingMiB, attacks, othersStatus }
}

function residentMiB({ pid }: ChildProcess): number {
  const [, kib] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!
  return Number(kib) / 1024
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function wholeBody(length: number): Buffer {
  return Buffer.from(`{"writes":[${' '.repeat(length)}]}`)
}

function headOf(path: string, headers: readonly string[]): string {
  return `${[`POST ${path} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/json', ...headers].join('\r\n')}\r\n\r\n`
}

async function open(port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** Resolves to the status; 0 if the connection was closed. */
async function send(
  port: number,
  headers: readonly string[],
  path: string,
  body: Buffer,
  from?: string,
): Promise<number> {
  const socket = await open(port, from)
  socket.write(headOf(path, [...headers, `Content-Length: ${body.length}`, 'Connection: close']))
  socket.write(body)
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
  })
  if (!socket.closed) await new Promise(resolve => socket.once('close', resolve))
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)
}

/** Uses as many connections as needed, because the server closes them. */
async function sendPieces(port: number, headers: readonly string[], path: string, pieces: number): Promise<void> {
  const piece = Buffer.from('1\r\n \r\n'.repeat(10_000))
  for (let sent = 0; sent < pieces; ) {
    const socket = await open(port)
    socket.resume()
    socket.write(headOf(path, [...headers, 'Transfer-Encoding: chunked']))
    while (sent < pieces && socket.writable) {
      sent += 10_000
      if (!socket.write(piece)) await drainedOrClosed(socket)
    }
    socket.destroy()
  }
}

function drainedOrClosed(socket: Socket): Promise<void> {
  if (socket.destroyed) return Promise.resolve()
  return new Promise(resolve => {
    socket.once('drain', resolve).once('close', () => resolve())
  })
}

async function sendUnended(port: number, tenant: string): Promise<Socket> {
  const socket = await open(port)
  socket.resume()
  const length = 8 * MIB
  socket.write(headOf('/commit', [tenant, `Content-Length: ${length}`]))
  const body = Buffer.alloc(length - 1, ' ')
  if (!socket.write(body)) await drainedOrClosed(socket)
  return socket
}
