/** PocketBase over SQLite: with the settings of its authors, and with one that writes each commit to the disk. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '@freshet/engines/under-test/free-port'
import { startServer } from '../http/server-process.js'
import { buildPocketbase } from './installed-peers.js'
import { fill, getOf, jsonRequest, type Peer, type PeerEntry, productOf, type Stage, send } from './peer.js'

type Synchronous = 'NORMAL' | 'FULL'

const RECORDS = '/api/collections/products/records'
const ADMIN = { identity: 'admin@example.org', password: 'only for the bench' }
const EVERYBODY = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' }
const FIELDS = [
  { name: 'name', type: 'text' },
  { name: 'price', type: 'number' },
  { name: 'text', type: 'text' },
]
const DURABILITY: Readonly<Record<Synchronous, string>> = {
  NORMAL: 'a crash of the process (SQLite: WAL, synchronous NORMAL, the default)',
  FULL: 'a power cut (SQLite: WAL, synchronous FULL)',
}

export const pocketbases: readonly PeerEntry[] = [
  { name: 'pocketbase', start: stage => start(stage, 'pocketbase', 'NORMAL') },
  { name: 'pocketbase-full', start: stage => start(stage, 'pocketbase-full', 'FULL') },
]

async function start({ folder, stops }: Stage, name: string, synchronous: Synchronous): Promise<Peer> {
  const program = await buildPocketbase()
  const data = ['--dir', join(folder, name)]
  const env = { ...process.env, SYNCHRONOUS: synchronous }
  await promisify(execFile)(program, ['superuser', 'upsert', ADMIN.identity, ADMIN.password, ...data], { env })
  const address = `127.0.0.1:${await freePort()}`
  const args = ['serve', '--http', address, ...data]
  const { url } = stops.add(await startServer({ name, program, args, env }))
  await prepare(url)
  await fill(url, i => jsonRequest('POST', RECORDS, { id: idOf(i), ...productOf(i) }))
  return {
    name,
    url,
    durability: DURABILITY[synchronous],
    read: i => getOf(`${RECORDS}/${idOf(i)}`),
    write: i => jsonRequest('PATCH', `${RECORDS}/${idOf(i)}`, productOf(i)),
  }
}

/** A collection that everybody may read and write, and no log of requests: Freshet keeps no such log either. */
async function prepare(url: string): Promise<void> {
  const signedIn = await send(url, jsonRequest('POST', '/api/collections/_superusers/auth-with-password', ADMIN))
  const { token } = (await signedIn.json()) as { token: string }
  const headers = { Authorization: token }
  await send(url, jsonRequest('PATCH', '/api/settings', { logs: { maxDays: 0 } }, headers))
  const collection = { name: 'products', type: 'base', fields: FIELDS, ...EVERYBODY }
  await send(url, jsonRequest('POST', '/api/collections', collection, headers))
}

/** PocketBase wants 15 characters. */
function idOf(index: number): string {
  return `p${String(index).padStart(14, '0')}`
}
