/**
 * The primary of several processes, which answers no requests itself. It is the one writer of an embedded store: its workers
 * read the store's files directly and hand their commits to it. They open a shared store themselves. When the primary dies,
 * its workers end too.
 */
import { type AddressInfo, createServer } from 'node:net'
import { ipcChannel, type ReadersService, serveReaders } from '@freshet/engines/lmdb'
import { putOwnRules } from '@freshet/server'
import type { Log } from '@freshet/server/configuration'
import { accessOf } from '../access/access-setup.js'
import type { Config } from '../config/options.js'
import { isEmbedded, type OpenedStore, openOwnStore, openStore } from '../places/open-store.js'
import type { RunningServer, ServeSetup } from './serve-setup.js'
import { WorkerPool } from './worker-pool.js'

export async function startPrimary(setup: ServeSetup): Promise<RunningServer> {
  const { log } = setup
  const port = setup.config.port === 0 ? await freePort(setup.config.host) : setup.config.port
  const config = { ...setup.config, port }
  let readers: ReadersService | undefined
  let own: OpenedStore | undefined
  const pool = new WorkerPool({ config, log, attach: worker => void readers?.attach(ipcChannel(worker)) })
  process.once('exit', () => pool.kill())
  try {
    if (isEmbedded(config)) {
      const opened = await openOwnStore(config, log)
      readers = serveReaders(opened.store)
      own = opened
    }
    await putRules(config, log, own)
    const isEmpty = own !== undefined && (await own.store.buckets()).length === 0
    await pool.start()
    const stop = async () => {
      await pool.stop()
      await own?.store.close()
    }
    return { port, isEmpty, failed: pool.failed, stop, force: () => pool.kill() }
  } catch (error) {
    pool.kill()
    await own?.store.close()
    throw error
  }
}

/**
 * Called in the primary, not in workers, which are restarted when they crash: by then another host may have changed the rules.
 */
async function putRules(config: Config, log: Log, own: OpenedStore | undefined): Promise<void> {
  const { store, known } = own ?? (await openStore(config, log))
  try {
    const { access, storedRules } = accessOf(config)
    await putOwnRules({ store, log, rules: access?.rules, storedRules, known: known.known })
  } finally {
    if (own === undefined) await store.close()
  }
}

/** All workers must listen on the same port, including those that later replace others. */
async function freePort(host: string): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}
