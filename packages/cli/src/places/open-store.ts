/** Opens the store that a name means: a folder on this machine, or the address of an engine that several servers share. */
import type { LogPlace, Store } from '@freshet/core/store'
import {
  type EmbeddedStore,
  type EmbeddedStoreOptions,
  ipcChannel,
  openEmbeddedReader,
  openEmbeddedSnapshot,
  openEmbeddedStore,
  type StoreState,
} from '@freshet/engines/lmdb'
import type { Log } from '@freshet/server/configuration'
import { configInvalid } from '../config/config-invalid.js'
import { sqlitePath } from '../config/engine-address.js'
import type { Config } from '../config/options.js'
import { isRing, nodesOfRing } from '../config/ring-address.js'
import { EMBEDDED, isEngine, withoutPassword } from '../config/store-kind.js'
import { KnownFile } from './known-file.js'
import type { StorePlace } from './place.js'

/** Whether the store is in this process, which is then its only writer. */
export function isEmbedded({ store }: Config): boolean {
  return store === EMBEDDED
}

export interface OpenedStore {
  readonly store: Store
  /** What earlier processes knew of the store. */
  readonly known: KnownFile
}

/** Each server and each worker opens a shared store for itself. */
export async function openStore(config: Config, log: Log): Promise<OpenedStore> {
  if (isEmbedded(config)) return openOwnStore(config, log)
  const { store: url, operationRetentionMs: retentionMs, operationMemory } = config
  if (operationMemory === 'compact') throw notCompact()
  if (config.workers > 1 && isRing(url) && nodesOfRing(url).some(node => !isEngine(node))) throw notShared()
  const known = await KnownFile.open(config.data, url, log)
  const onWarning = (warning: string) => log.write('error', warning)
  const store = await openEngine({ url, retentionMs, recalled: known.place, onWarning })
  known.follow(store)
  return { store, known }
}

/** The store in a folder, which this process writes to. Logs damaged objects. */
export async function openOwnStore(config: Config, log: Log): Promise<OpenedStore & { readonly store: EmbeddedStore }> {
  const known = await KnownFile.open(config.data, config.store, log)
  const store = await openEmbeddedStore(embeddedOptionsOf(config))
  const { damagedKeys } = store.engine
  if (damagedKeys.length > 0) {
    log.write('error', 'Some objects are damaged and cannot be read', {
      code: 'STORE_DAMAGED',
      damaged: damagedKeys.length,
      keys: damagedKeys.slice(0, 20),
      advice: 'Check the disk, stop the server, and run freshet restore with --damaged.',
    })
  }
  if (known.place !== undefined && known.place.log !== store.log) log.write('error', PUT_BACK, { folder: config.data })
  known.follow(store, 0)
  return { store, known }
}

/** The store of a worker, which reads the folder and hands its commits to the primary. */
export async function openReader(config: Config, log: Log): Promise<OpenedStore> {
  const known = await KnownFile.open(config.data, config.store, log)
  const store = await openEmbeddedReader({ path: config.data, channel: ipcChannel(process) })
  known.follow(store, 0)
  return { store, known }
}

const PUT_BACK =
  'the data folder was copied back or moved, or its owner was changed, so sessions start over. If it comes from a backup, its access rules may ' +
  'be outdated: stop the server, and compare them with freshet rules diff FILE'

function notCompact(): Error {
  return configInvalid(
    'Only the embedded store has compact operation memory. Leave out --operation-memory, or --store.',
  )
}

function notShared(): Error {
  return configInvalid(
    'A ring with folders among its nodes can be used by one process only, since only one can open a folder. Add --workers 1.',
  )
}

/** A folder, or the address of an engine. */
export function openNamedStore(name: string, onWarning: (warning: string) => void): Promise<Store> {
  return isEngine(name) ? openEngine({ url: name, onWarning }) : openEmbeddedStore({ path: name })
}

interface EngineOptions {
  readonly url: string
  /** What an earlier process knew of the store. */
  readonly recalled?: LogPlace | undefined
  readonly retentionMs?: number
  readonly onWarning: (warning: string) => void
}

async function openEngine(options: EngineOptions): Promise<Store> {
  if (isRing(options.url)) return openRing(options)
  const path = sqlitePath(options.url)
  if (path !== undefined) return (await import('@freshet/engines/sqlite')).openSqliteStore({ ...options, path })
  if (/^rediss?:/.test(options.url)) return (await import('@freshet/engines/redis')).openRedisStore(options)
  if (/^(mariadb|mysql):/.test(options.url)) return (await import('@freshet/engines/mariadb')).openMariadbStore(options)
  if (/^cassandra:/.test(options.url)) return (await import('@freshet/engines/cassandra')).openCassandraStore(options)
  return (await import('@freshet/engines/postgres')).openPostgresStore(options)
}

/** Each node is an ordinary store, of which the ring uses a few calls. */
async function openRing({ url, onWarning, ...more }: EngineOptions): Promise<Store> {
  const { openQuorumStore } = await import('@freshet/engines/quorum')
  const nodes = nodesOfRing(url).map(node => {
    const place = withoutPassword(node)
    return { place, open: () => openNamedStore(node, warning => onWarning(`${place}: ${warning}`)) }
  })
  return openQuorumStore({ nodes, onWarning, ...more })
}

function embeddedOptionsOf(config: Config): EmbeddedStoreOptions {
  const { data, durability, operationMemory, operationRetentionMs } = config
  const compact = operationMemory === 'compact' ? { compact: {} } : {}
  return { path: data, durability, retentionMs: operationRetentionMs, ...compact }
}

/** Opens a store for reading. A folder is opened at one state, while a server may be writing to it. */
export function openState({ store }: StorePlace): Promise<StoreState> {
  return isEngine(store) ? openNamedStore(store, warning => console.error(warning)) : openEmbeddedSnapshot(store)
}
