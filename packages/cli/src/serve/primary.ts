/**
 * The primary of several processes, which answers no requests itself. It is the one writer of an embedded store: its workers
 * read the store's files directly and hand their commits to it. A store that is shared they open themselves. When it dies, its
 * workers end too.
 */
import { type AddressInfo, createServer } from 'node:net'
import type { Store } from '@freshet/core/store'
import { type Log, putOwnRules } from '@freshet/server'
import {
  type EmbeddedStore,
  ipcChannel,
  openEmbeddedStore,
  type ReadersService,
  serveReaders,
} from '@freshet/stores/embedded'
import type { Config } from '../config/options.js'
import { accessOf } from './access-setup.js'
import { embeddedOptionsOf, isEmbedded, openStore } from './open-store.js'
import type { RunningServer, ServeSetup } from './serve-setup.js'
import { WorkerPool } from './worker-pool.js'

export async function startPrimary(setup: ServeSetup): Promise<RunningServer> {
  const { log } = setup
  const port = setup.config.port === 0 ? await freePort(setup.config.host) : setup.config.port
  const config = { ...setup.config, port }
  let readers: ReadersService | undefined
  let store: EmbeddedStore | undefined
  const pool = new WorkerPool({ config, log, attach: worker => void readers?.attach(ipcChannel(worker)) })
  process.once('exit', () => pool.kill())
  try {
    if (isEmbedded(config)) {
      store = await openEmbeddedStore(embeddedOptionsOf(config))
      readers = serveReaders(store)
    }
    await putRules(config, log, store)
    const isEmpty = store !== undefined && (await store.buckets()).length === 0
    await pool.start()
    const stop = async () => {
      await pool.stop()
      await store?.close()
    }
    return { port, isEmpty, failed: pool.failed, stop, force: () => pool.kill() }
  } catch (error) {
    pool.kill()
    await store?.close()
    throw error
  }
}

/** Here and not in workers, which are started again when they crash: by then the store may have other rules, of another host. */
async function putRules(config: Config, log: Log, opened: Store | undefined): Promise<void> {
  const store = opened ?? (await openStore(config, log))
  try {
    const { access, storedRules } = accessOf(config)
    await putOwnRules({ store, log, rules: access?.rules, storedRules })
  } finally {
    if (store !== opened) await store.close()
  }
}

/** All workers must listen at the same one, also those that come later to replace others. */
async function freePort(host: string): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}
