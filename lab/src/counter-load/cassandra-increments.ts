/** Cassandra's own counter, incremented through its driver, as Cassandra's documentation shows. */
import { createSteadyClient } from '@freshet/engines/under-test/start-cassandra'
import cassandra from 'cassandra-driver'
import type { FarCassandra } from '../engines/cassandra.js'
import type { Incrementer } from './increments.js'

const TABLE = 'vanilla.counters'
const { loadBalancing, reconnection } = cassandra.policies

/** Creates the table. */
export async function prepareCounters(far: FarCassandra): Promise<void> {
  const client = clientOf(far, 10_000)
  try {
    const copies = `{'class': 'SimpleStrategy', 'replication_factor': ${far.hosts.length}}`
    await client.execute(`CREATE KEYSPACE IF NOT EXISTS vanilla WITH replication = ${copies}`)
    await client.execute(`CREATE TABLE IF NOT EXISTS ${TABLE} (name text PRIMARY KEY, value counter)`)
  } finally {
    await client.shutdown()
  }
}

/** Each client has its own connections. It stops waiting after `timeoutMs` without an answer. */
export async function connectToCounter(far: FarCassandra, name: string, timeoutMs: number): Promise<Incrementer> {
  const client = clientOf(far, timeoutMs)
  await client.connect()
  const query = `UPDATE ${TABLE} SET value = value + 1 WHERE name = ?`
  return {
    increment: async () => {
      // Not idempotent, so the driver does not send it again by itself.
      try {
        await client.execute(query, [name], { prepare: true, consistency: cassandra.types.consistencies.quorum })
        return 'done'
      } catch (error) {
        // The driver has no connection, and has not sent the increment: no client would take that for an answer.
        if (error instanceof cassandra.errors.NoHostAvailableError) return 'later'
        throw error
      }
    },
    close: () => client.shutdown(),
  }
}

export async function readCounter(far: FarCassandra, name: string): Promise<number> {
  const client = clientOf(far, 10_000)
  try {
    const options = { prepare: true, consistency: cassandra.types.consistencies.all }
    const { rows } = await client.execute(`SELECT value FROM ${TABLE} WHERE name = ?`, [name], options)
    return rows[0]?.value.toNumber() ?? 0
  } finally {
    await client.shutdown()
  }
}

function clientOf({ hosts, port }: FarCassandra, timeoutMs: number): cassandra.Client {
  return createSteadyClient({
    contactPoints: [...hosts],
    protocolOptions: { port },
    policies: {
      loadBalancing: new loadBalancing.RoundRobinPolicy(),
      reconnection: new reconnection.ConstantReconnectionPolicy(100),
    },
    // Keep a connection that was silent once: giving it up would also lose everything else sent over it.
    socketOptions: { connectTimeout: timeoutMs, readTimeout: timeoutMs, defunctReadTimeoutThreshold: 1 },
  })
}
