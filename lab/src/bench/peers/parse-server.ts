/** parse-server over PostgreSQL. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '@freshet/engines/under-test/free-port'
import { startServer } from '../http/server-process.js'
import { installNpmPeer } from './installed-peers.js'
import { getOf, jsonRequest, OBJECTS, type PeerEntry, productOf, send } from './peer.js'

const CLASS = '/parse/classes/Product'
const APP = { 'X-Parse-Application-Id': 'bench' }

export const parseServer: PeerEntry = {
  name: 'parse-server',
  async start({ folder, stops, createDatabase }) {
    const installed = await installNpmPeer('parse-server')
    const config = join(folder, 'parse-server.json')
    const port = await freePort()
    await writeFile(config, JSON.stringify(await settingsOf(port, await createDatabase('parse'))))
    const program = join(installed, 'node_modules/parse-server/bin/parse-server')
    const command = { name: 'parse-server', args: [program, config], cwd: folder }
    const { url } = stops.add(await startServer(command))
    const ids = await createAll(url)
    return {
      name: 'parse-server',
      url,
      durability: 'a power cut (PostgreSQL, its defaults)',
      read: i => getOf(`${CLASS}/${ids[i]}`, APP),
      write: i => jsonRequest('PUT', `${CLASS}/${ids[i]}`, productOf(i), APP),
    }
  },
}

function settingsOf(port: number, databaseURI: string): object {
  return {
    appId: APP['X-Parse-Application-Id'],
    masterKey: 'only for the bench',
    serverURL: `http://127.0.0.1:${port}/parse`,
    host: '127.0.0.1',
    port,
    databaseURI,
    allowClientClassCreation: true,
    silent: true,
  }
}

/** Parse chooses the ids. The first object creates the class. */
async function createAll(url: string): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < OBJECTS; i++) {
    const created = (await (await send(url, jsonRequest('POST', CLASS, productOf(i), APP))).json()) as {
      objectId: string
    }
    ids.push(created.objectId)
  }
  return ids
}
