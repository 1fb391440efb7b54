/** Makes a node from its address: a Freshet server, an engine, or the folder of an embedded store. Does not connect yet. */
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

/** Engines must not wait: coordinators have their own time-outs for nodes. */
const PATIENCE_MS = 0
const ENGINE = /^(?:rediss?|postgres(?:ql)?|mariadb|mysql):/

/** Throws CONFIG_INVALID for an unknown scheme: taken for a folder, the address would put its password in a folder's name. */
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
    'A node of the ring has an unsupported address. Use redis://, postgres://, mariadb:// or http://, or a folder.',
  )
}
