/** Zero and Freshet over one PostgreSQL: how long after a write by SQL a client of each shows it. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startPostgres } from '@freshet/engines/under-test/start-postgres'
import pg from 'pg'
import { type PreparedContender, startChild } from '../../harness/child-contender.js'
import { measureSideBySide, type Standing } from '../../harness/side-by-side.js'
import { StopList } from '../../harness/start-in-order.js'
import { FRESHET, startFreshet } from './freshets.js'
import { installNpmPeer } from './installed-peers.js'
import { PeerMissing } from './peer.js'
import type { VisibleSettings } from './visible-process.js'
import { VISIBLE_TABLE, type VisibleMeasure } from './visible-writes.js'

export interface VisibleStandings {
  readonly standings: readonly Standing<VisibleMeasure>[]
  /** Why Zero was left out; undefined if it was measured. */
  readonly missing?: string
}

export interface VisibleOptions {
  readonly folder: string
  readonly rounds: number
  readonly onTurn: (done: number, total: number, name: string) => void
}

/** Zero follows the log of PostgreSQL; Freshet's triggers need no setting. */
const SETTINGS = { wal_level: 'logical' }
/** Zero's client needs a WebSocket, which Node has by itself from version 22 on. */
const WEB_SOCKET = Number(process.versions.node.split('.')[0]) < 22 ? ['--experimental-websocket'] : []

export async function measureVisible(options: VisibleOptions): Promise<VisibleStandings> {
  const stops = new StopList()
  try {
    const installed = await installNpmPeer('@rocicorp/zero')
    const { url: postgresUrl } = stops.add(await startPostgres({ settings: SETTINGS }))
    const client = new pg.Client({ connectionString: postgresUrl })
    await client.connect()
    await client.query(VISIBLE_TABLE)
    await client.end()
    const url = await serveTable(postgresUrl, stops)
    const contenders = [
      stops.add(await startClient({ kind: 'freshet', url, postgresUrl })),
      stops.add(
        await startClient({ kind: 'zero', installed, postgresUrl, replicaFile: join(options.folder, 'zero.db') }),
      ),
    ]
    const { rounds, onTurn } = options
    return { standings: await measureSideBySide({ contenders, measures: ['visible'], rounds, onTurn }) }
  } catch (error) {
    if (!(error instanceof PeerMissing)) throw error
    return { standings: [], missing: error.message }
  } finally {
    await stops.stopAll()
  }
}

async function serveTable(postgresUrl: string, stops: StopList): Promise<string> {
  const table = ['--table', 'public.products', '--bucket', 'shop/products']
  await promisify(execFile)(process.execPath, [FRESHET, 'tables', 'add', '--store', postgresUrl, ...table])
  return stops.add(await startFreshet('freshet over the table', ['--store', postgresUrl])).url
}

function startClient(settings: VisibleSettings): Promise<PreparedContender<undefined, VisibleMeasure>> {
  return startChild({
    name: settings.kind,
    module: new URL('./visible-process.js', import.meta.url),
    settings,
    nodeArguments: settings.kind === 'zero' ? WEB_SOCKET : [],
  })
}
