/**
 * What is done in Cassandra. `freshet`: the store. `driver`: the same upserts and selects with the driver, prepared, by a majority, pipelined; without
 * a log, an order, or anything that could be validated.
 */
import type { Store } from '@freshet/core/store'
import { openCassandraStore } from '@freshet/stores/cassandra'
import cassandra from 'cassandra-driver'
import { BODY, type EnginesSettings, storeTarget, type Target, TYPE } from './engine-target.js'

const UPSERT = 'INSERT INTO plain.objects (bucket, id, version, type, body) VALUES (?, ?, ?, ?, ?)'
const SELECT = 'SELECT version, type, body FROM plain.objects WHERE bucket = ? AND id = ?'

export async function prepareCassandra(url: string): Promise<void> {
  const client = clientOf(url)
  await client.execute("CREATE KEYSPACE plain WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
  const columns = 'bucket text, id text, version bigint, type text, body blob, PRIMARY KEY (bucket, id)'
  await client.execute(`CREATE TABLE plain.objects (${columns})`)
  await client.shutdown()
  // The store's own tables: its servers start at once.
  await (await openPatientStore({ url })).close()
}

/** Its servers share the processors with it: that it is slow is measured, and no error. */
export function openPatientStore({ url }: { url: string }): Promise<Store> {
  return openCassandraStore({ url, answerMsMax: 20_000, waitMsMax: 60_000, onWarning: () => {} })
}

export async function openCassandraTarget({ kind, url }: EnginesSettings): Promise<Target> {
  if (kind === 'freshet') return storeTarget(await openPatientStore({ url }))
  const client = clientOf(url)
  await client.connect()
  const options = { prepare: true, consistency: cassandra.types.consistencies.quorum }
  return {
    commit: ([key]) => client.execute(UPSERT, [...placeOf(key!), 1, TYPE, BODY], options),
    get: key => client.execute(SELECT, placeOf(key), options),
    batch: 1,
  }
}

function placeOf(key: string): [bucket: string, id: string] {
  const slash = key.lastIndexOf('/')
  return [key.slice(0, slash), key.slice(slash + 1)]
}

function clientOf(url: string): cassandra.Client {
  const { hostname, port } = new URL(url)
  return new cassandra.Client({
    contactPoints: [hostname],
    protocolOptions: { port: Number(port) },
    socketOptions: { readTimeout: 20_000 },
    policies: { loadBalancing: new cassandra.policies.loadBalancing.RoundRobinPolicy() },
  })
}
