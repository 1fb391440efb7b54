/**
 * A Freshet server with its default settings over an embedded store, filled with the objects of a social network. The settings
 * come as JSON in the only argument. The process reports to its parent, over IPC, where it listens, and, on request, how many
 * objects it has served.
 *
 * The objects count as written long ago: before the first request the log is trimmed, as a server does with everything older
 * than its window. By then no copy has been served that a trimmed change could have made outdated.
 */
import { createServer } from 'node:http'
import { openEmbeddedStore } from '@freshet/engines/lmdb'
import { createFreshetServer } from '@freshet/server'
import { BUCKET, idOf, socialObject } from './social-network.js'

export interface OriginSettings {
  readonly path: string
  readonly objects: number
}

export type OriginMessage = { readonly url: string } | { readonly dataReads: number }

const WRITES_PER_COMMIT = 1000
/** Clients that are notified of every change need not fear old copies. */
const LIFETIME_MS = 3_600_000

const { path, objects } = JSON.parse(process.argv[2]!) as OriginSettings
const store = await openEmbeddedStore({ path, durability: 'relaxed' })
await fill()
const freshet = createFreshetServer({ store })
let dataReads = 0
const server = createServer({ noDelay: true }, (request, response) => {
  if (request.method === 'GET' && request.url!.startsWith('/db/')) dataReads++
  freshet.handle(request, response)
})
server.keepAliveTimeout = 65_000
server.listen(0, '127.0.0.1', () => {
  tell({ url: `http://127.0.0.1:${(server.address() as { port: number }).port}` })
})
process.on('message', () => tell({ dataReads }))
process.once('disconnect', () => process.exit())

async function fill(): Promise<void> {
  const filler = createFreshetServer({ store })
  const { url } = await filler.listen({ port: 0 })
  await send(`${url}/db/${BUCKET}`, 'PUT', { kind: 'object', lifetimeMs: LIFETIME_MS })
  for (let first = 0; first < objects; first += WRITES_PER_COMMIT) {
    const count = Math.min(WRITES_PER_COMMIT, objects - first)
    const writes = Array.from({ length: count }, (_, i) => ({
      path: `/db/${BUCKET}/${idOf(first + i)}`,
      value: socialObject(first + i, 0),
    }))
    await send(`${url}/commit`, 'POST', { writes })
  }
  await filler.close({ graceMs: 0 })
  await store.trim(await store.position())
}

async function send(url: string, method: string, body: object): Promise<void> {
  const headers = { 'Content-Type': 'application/json' }
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`The server did not write the objects: ${await response.text()}`)
  await response.arrayBuffer()
}

function tell(message: OriginMessage): void {
  process.send?.(message)
}
