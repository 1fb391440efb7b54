/**
 * The same work in Cassandra with the driver: the store's upserts and selects, prepared, by a majority, pipelined; without a log,
 * an order, or anything that could be validated.
 */
import cassandra from 'cassandra-driver'
import { BODY, type EnginesSettings, type Target, TYPE } from './engine-target.js'
import { openOwnStore } from './own-store.js'

const UPSERT = 'INSERT INTO plain.objects (bucket, id, version, type, body) VALUES (?, ?, ?, ?, ?)'
const SELECT = 'SELECT version, type, body FROM plain.objects WHERE bucket = ? AND id = ?'

export async function prepareCassandra(url: string): Promise<void> {
  const client = clientOf(url)
  await client.execute("CREATE KEYSPACE plain WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
  const columns = 'bucket text, id text, version bigint, type text, body blob, PRIMARY KEY (bucket, id)'
  await client.execute(`CREATE TABLE plain.objects (${columns})`)
  await client.shutdown()
  // Creates the store's own tables: its servers all start at once.
  await (await openOwnStore('Cassandra', url, 'main')).close()
}

export async function openCassandraTarget({ url }: EnginesSettings): Promise<Target> {
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
