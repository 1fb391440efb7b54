/** Cloudflare's D1 as its developers run it on their own machine: miniflare, with sessions. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startServer } from '../http/server-process.js'
import { installNpmPeer } from './installed-peers.js'
import { fill, getOf, jsonRequest, type PeerEntry, productOf } from './peer.js'

export const d1: PeerEntry = {
  name: 'd1',
  async start({ folder, stops }) {
    const installed = await installNpmPeer('miniflare')
    const module = fileURLToPath(new URL('./d1-process.js', import.meta.url))
    const settings = JSON.stringify({ installed, data: join(folder, 'd1') })
    const { url } = stops.add(await startServer({ name: 'd1', args: [module, settings], cwd: folder }))
    const write = (i: number) => jsonRequest('PUT', `/products/${i}`, productOf(i))
    await fill(url, write)
    return {
      name: 'd1',
      url,
      durability: 'a power cut (SQLite in workerd, an fsync for each write)',
      read: i => getOf(`/products/${i}`),
      write,
    }
  },
}
