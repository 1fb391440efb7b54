import { setTimeout as delay } from 'node:timers/promises'
import { createMemoryStore } from '@freshet/stores/memory'
import { openGlobalLog, openShard } from '@freshet/stores/shards'
import { endMariadb, startMariadb } from '@freshet/stores/under-test/start-mariadb'
import { afterAll, beforeAll } from 'vitest'
import { mariadbDatabases } from './under-test/engine-databases.js'
import { fillShards, type ShardedEngine } from './under-test/sharded-engine.js'
import { testStreams } from './under-test/test-streams.js'

let started: ShardedEngine

beforeAll(async () => {
  const settings = { innodb_flush_log_at_trx_commit: '0', character_set_server: 'utf8mb4' }
  const databases = await mariadbDatabases(await startMariadb({ settings }))
  const placement = { kind: 'ranges', from: [0, 20, 40] } as const
  started = await fillShards(databases, { openShard, openGlobalLog }, 'mariadb', placement)
})

afterAll(async () => {
  await started?.close()
  await endMariadb()
})

const OPEN =
  "information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id WHERE p.db IN ('a', 'b', 'c') AND p.id <> CONNECTION_ID()"

/** InnoDB looks anew only if nobody has asked for a tenth of a second: who asks more often is told the same for ever. */
const LOOKS_ANEW_MS = 150

async function ask(what: string) {
  await delay(LOOKS_ANEW_MS)
  return started.databases.run('a', `SELECT ${what} FROM ${OPEN}`)
}

testStreams({
  started: () => started,
  createStore: () => createMemoryStore({ positionsAfter: 0 }),
  fillPages: (count, shelf, id) =>
    `INSERT INTO pages SELECT ${shelf}, ${id}, 1, MD5(n), REPEAT(MD5(n), 15) FROM (SELECT seq AS n FROM seq_0_to_${count - 1}) AS s`,
  waiting: async () => {
    const rows = await ask('p.state')
    return rows.filter(({ state }) => /writing to net/i.test(String(state))).length
  },
  openTransactions: async () => {
    const rows = await ask('COUNT(*) AS n')
    return Number(rows[0]!.n)
  },
  endTransaction: async shard => {
    const rows = await ask('p.id, p.db')
    for (const { id } of rows.filter(({ db }) => db === shard)) await started.databases.run('a', `KILL ${id}`)
  },
})
