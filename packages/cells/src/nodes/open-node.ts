/** A node by its address: a Freshet server, an engine, or the folder of an embedded store. Nothing is connected to yet. */
import type { Store } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { createHttpNode } from './http-node.js'
import { createLazyNode } from './lazy-node.js'
import type { Node } from './node.js'
import { createStoreNode } from './store-node.js'

export interface NodeAccess {
  /** For nodes that are Freshet servers. */
  readonly token?: string | undefined
  readonly onWarning?: (warning: string) => void
}

/** Coordinators wait for nodes by themselves, and no longer than they want to. */
const PATIENCE_MS = 0
const ENGINE = /^(?:rediss?|postgres(?:ql)?|mariadb|mysql):/

/** Throws CONFIG_INVALID: as a folder, an address would have its password in the name. */
export function openNodeAt(address: string, { token, onWarning = () => {} }: NodeAccess = {}): Node {
  if (/^https?:/.test(address)) return createHttpNode({ url: address, ...(token === undefined ? {} : { token }) })
  if (address.includes('://') && !ENGINE.test(address)) throw noEngine()
  return createLazyNode(async () => createStoreNode(await openStoreAt(address, onWarning)))
}

async function openStoreAt(url: string, onWarning: (warning: string) => void): Promise<Store> {
  if (/^rediss?:/.test(url)) {
    return (await import('@freshet/engines/redis')).openRedisStore({ url, patienceMs: PATIENCE_MS, onWarning })
  }
  if (/^postgres(?:ql)?:/.test(url))
    return (await import('@freshet/engines/postgres')).openPostgresStore({ url, onWarning })
  if (/^(?:mariadb|mysql):/.test(url))
    return (await import('@freshet/engines/mariadb')).openMariadbStore({ url, onWarning })
  return (await import('@freshet/engines/lmdb')).openEmbeddedStore({ path: url })
}

function noEngine(): FreshetError {
  return new FreshetError(
    'CONFIG_INVALID',
    'A node of a ring is at redis://, postgres://, mariadb:// or http://, or in a folder: one has another address. Correct it.',
  )
}
