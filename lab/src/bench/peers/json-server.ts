/** json-server: all objects in one JSON file, which each write replaces as a whole. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '@freshet/engines/under-test/free-port'
import { startServer } from '../http/server-process.js'
import { installNpmPeer } from './installed-peers.js'
import { getOf, jsonRequest, OBJECTS, type PeerEntry, productOf } from './peer.js'

export const jsonServer: PeerEntry = {
  name: 'json-server',
  async start({ folder, stops }) {
    const installed = await installNpmPeer('json-server')
    const file = join(folder, 'json-server.json')
    const products = Array.from({ length: OBJECTS }, (_, i) => ({ id: `${i}`, ...productOf(i) }))
    await writeFile(file, JSON.stringify({ products }))
    const port = await freePort()
    const program = join(installed, 'node_modules/json-server/lib/cli/bin.js')
    const args = [program, file, '--host', '127.0.0.1', '--port', `${port}`]
    const { url } = stops.add(await startServer({ name: 'json-server', args, cwd: folder }))
    return {
      name: 'json-server',
      url,
      durability: 'a crash of the process (a file, never flushed)',
      read: i => getOf(`/products/${i}`),
      write: i => jsonRequest('PUT', `/products/${i}`, productOf(i)),
    }
  },
}
