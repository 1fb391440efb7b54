/** Which store it is, by what it is called: a folder of this machine, or the address of an engine that several servers share. */
import type { Store } from '@freshet/core/store'
import type { Log } from '@freshet/server'
import { type EmbeddedStoreOptions, openEmbeddedStore } from '@freshet/stores/embedded'
import type { Config } from '../config/options.js'
import { EMBEDDED } from '../config/store-kind.js'

/** Whether it is in this process, which is then the only one that writes. */
export function isEmbedded({ store }: Config): boolean {
  return store === EMBEDDED
}

/** Each server and each worker opens one that is shared by itself. */
export async function openStore(config: Config, log: Log): Promise<Store> {
  if (isEmbedded(config)) return openEmbeddedStore(embeddedOptionsOf(config))
  const { store: url, operationRetentionMs: retentionMs } = config
  const onWarning = (warning: string) => log.write('error', warning)
  if (/^rediss?:/.test(url))
    return (await import('@freshet/stores/redis')).openRedisStore({ url, retentionMs, onWarning })
  return (await import('@freshet/stores/postgres')).openPostgresStore({ url, retentionMs, onWarning })
}

export function embeddedOptionsOf(config: Config): EmbeddedStoreOptions {
  const { data, durability, operationMemory, operationRetentionMs } = config
  const compact = operationMemory === 'compact' ? { compact: {} } : {}
  return { path: data, durability, retentionMs: operationRetentionMs, ...compact }
}
