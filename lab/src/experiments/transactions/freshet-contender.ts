/** Transactions of Freshet's clients, with a Varnish near them and the server far away. */
import { connect, type Database, type Transaction, type TransactOptions } from '@freshet/client'
import { type Chosen, CLIENTS, type Contender, idsOf } from './contended-work.js'
import type { Site } from './site.js'

export interface Mode {
  readonly name: string
  readonly options: Pick<TransactOptions, 'read' | 'lease'>
}

interface Item {
  readonly count: number
}

/** Retries until the commit: a transaction that gives up would not count. */
const PATIENCE = { retriesMax: 10_000, timeoutMs: 60_000 }

export async function createFreshetContender(
  site: Site,
  { name, options }: Mode,
  bucket: string,
  objects: number,
): Promise<Contender> {
  const connecting = Array.from({ length: CLIENTS }, () =>
    connect(site.nearUrl, { refresh: 'push', timeoutMs: 60_000 }),
  )
  const clients = await Promise.all(connecting)
  return {
    name,
    transact: (client, chosen, isWorthIt) => countUp(clients[client]!, bucket, chosen, options, isWorthIt),
    total: async () => {
      const found = await clients[0]!.bucket<Item>(bucket).getMany(idsOf(objects), { read: 'current' })
      return found.reduce((sum, item) => sum + item!.count, 0)
    },
    stop: async () => {
      for (const db of clients) db.close()
    },
  }
}

class GivenUp extends Error {}

async function countUp(
  db: Database,
  bucket: string,
  { ids, written }: Chosen,
  options: Mode['options'],
  isWorthIt: () => boolean,
): Promise<boolean> {
  const work = async (tx: Transaction) => {
    if (!isWorthIt()) {
      tx.rollback()
      throw new GivenUp()
    }
    const items = tx.bucket<Item>(bucket)
    const found = await items.getMany(ids)
    for (const id of written) items.put(id, { count: found[ids.indexOf(id)]!.count + 1 })
  }
  try {
    await db.transaction(work, { ...options, ...PATIENCE })
    return true
  } catch (error) {
    if (error instanceof GivenUp) return false
    throw error
  }
}
