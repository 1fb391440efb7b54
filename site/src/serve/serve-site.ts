/** Serves the files of the built site to this machine only. */
import { readFile } from 'node:fs/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'

export interface SiteServer {
  readonly url: string
  /** The usual port, if another program has it. */
  readonly portTaken?: number
  close(): Promise<void>
}

const HOST = '127.0.0.1'
const PORT_USUAL = 7790
const PORTS_TRIED = 20
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}
const TYPE_OTHERWISE = 'text/plain; charset=utf-8'

/** Without a port: the usual one, or the next free one. */
export async function serveSite(folder: string, { port }: { readonly port: number | undefined }): Promise<SiteServer> {
  const server = createServer((request, response) => void answer(folder, request.url ?? '/', response))
  const ports = port === undefined ? Array.from({ length: PORTS_TRIED }, (_, i) => PORT_USUAL + i) : [port]
  const taken = await listen(server, ports)
  return {
    url: `http://localhost:${taken}`,
    ...(port === undefined && taken !== PORT_USUAL && { portTaken: PORT_USUAL }),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        // Browsers keep connections open for minutes; closing them loses nothing.
        server.closeAllConnections()
      }),
  }
}

/** Returns the port. */
async function listen(server: Server, ports: readonly number[]): Promise<number> {
  for (const port of ports) {
    const error = await tryToListen(server, port)
    if (error === undefined) return (server.address() as AddressInfo).port
    if (error.code !== 'EADDRINUSE' || port === ports.at(-1)) throw new Error(refusal(error, ports), { cause: error })
  }
  throw new Error('There is no port to listen on.')
}

function tryToListen(server: Server, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise(resolve => {
    const onError = (error: NodeJS.ErrnoException) => resolve(error)
    server.once('error', onError)
    server.listen(port, HOST, () => {
      server.off('error', onError)
      resolve(undefined)
    })
  })
}

function refusal(error: NodeJS.ErrnoException, ports: readonly number[]): string {
  const advice = 'Let the system choose a free port: npm run docs -- --port 0'
  const which = ports.length === 1 ? `Port ${ports[0]} is` : `The ports ${ports[0]} to ${ports.at(-1)} are`
  if (error.code === 'EADDRINUSE') return `${which} taken by another program. ${advice}`
  if (error.code === 'EACCES') return `This account is not allowed to use port ${ports[0]}. ${advice}`
  return `The server cannot listen on port ${ports[0]}: ${error.message}. ${advice}`
}

async function answer(folder: string, target: string, response: ServerResponse): Promise<void> {
  const path = pathOf(target)
  const body = path === undefined ? undefined : await read(join(folder, path))
  if (path === undefined || body === undefined) {
    response
      .writeHead(404, { 'content-type': TYPE_OTHERWISE })
      .end('This page does not exist. The first one is at /.\n')
    return
  }
  // After another build a reload shows the new pages.
  response
    .writeHead(200, { 'content-type': TYPES[extname(path)] ?? TYPE_OTHERWISE, 'cache-control': 'no-cache' })
    .end(body)
}

/** Relative to the folder, and never outside it: a URL has resolved each `..`. Undefined if it cannot be decoded. */
function pathOf(target: string): string | undefined {
  try {
    const path = decodeURIComponent(new URL(target, 'http://site').pathname)
    if (path.split(/[/\\]/).includes('..') || path.includes('\0')) return undefined
    return path.endsWith('/') ? `${path}index.html` : path
  } catch {
    return undefined
  }
}

async function read(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file)
  } catch {
    // A folder, or a file that does not exist.
    return undefined
  }
}
