/** Which store it is, by what it is called: a folder of this machine, or the address of an engine that several servers share. */
import type { Store } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import type { Log } from '@freshet/server'
import { type EmbeddedStoreOptions, openEmbeddedStore } from '@freshet/stores/embedded'
import type { Config } from '../config/options.js'
import { isRing, nodesOfRing } from '../config/ring-address.js'
import { EMBEDDED, isEngine, withoutPassword } from '../config/store-kind.js'

/** Whether it is in this process, which is then the only one that writes. */
export function isEmbedded({ store }: Config): boolean {
  return store === EMBEDDED
}

/** Each server and each worker opens one that is shared by itself. */
export async function openStore(config: Config, log: Log): Promise<Store> {
  if (isEmbedded(config)) return openEmbeddedStore(embeddedOptionsOf(config))
  const { store: url, operationRetentionMs: retentionMs, operationMemory } = config
  if (operationMemory === 'compact') throw notCompact()
  if (config.workers > 1 && isRing(url) && nodesOfRing(url).some(node => !isEngine(node))) throw notShared()
  return openEngine({ url, retentionMs, onWarning: warning => log.write('error', warning) })
}

function notCompact(): FreshetError {
  return new FreshetError(
    'CONFIG_INVALID',
    'Operations are remembered compactly by the embedded store alone. Leave out --operation-memory, or --store.',
  )
}

function notShared(): FreshetError {
  return new FreshetError(
    'CONFIG_INVALID',
    'A ring with folders among its nodes is for one process, since only one can have a folder open. Add --workers 1.',
  )
}

/** A folder, or the address of an engine. */
export function openNamedStore(name: string, onWarning: (warning: string) => void): Promise<Store> {
  return isEngine(name) ? openEngine({ url: name, onWarning }) : openEmbeddedStore({ path: name })
}

interface EngineOptions {
  readonly url: string
  readonly retentionMs?: number
  readonly onWarning: (warning: string) => void
}

async function openEngine(options: EngineOptions): Promise<Store> {
  if (isRing(options.url)) return openRing(options)
  if (/^rediss?:/.test(options.url)) return (await import('@freshet/stores/redis')).openRedisStore(options)
  if (/^(mariadb|mysql):/.test(options.url)) return (await import('@freshet/stores/mariadb')).openMariadbStore(options)
  if (/^cassandra:/.test(options.url)) return (await import('@freshet/stores/cassandra')).openCassandraStore(options)
  return (await import('@freshet/stores/postgres')).openPostgresStore(options)
}

/** Each node is a store like any other, of which the ring uses a few calls. */
async function openRing({ url, onWarning, ...more }: EngineOptions): Promise<Store> {
  const { openRingStore } = await import('@freshet/stores/replicated/log')
  const nodes = nodesOfRing(url).map(node => {
    const place = withoutPassword(node)
    return { place, open: () => openNamedStore(node, warning => onWarning(`${place}: ${warning}`)) }
  })
  return openRingStore({ nodes, onWarning, ...more })
}

export function embeddedOptionsOf(config: Config): EmbeddedStoreOptions {
  const { data, durability, operationMemory, operationRetentionMs } = config
  const compact = operationMemory === 'compact' ? { compact: {} } : {}
  return { path: data, durability, retentionMs: operationRetentionMs, ...compact }
}
