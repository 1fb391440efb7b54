import { setTimeout as delay } from 'node:timers/promises'
import { createMemoryStore } from '@freshet/engines/memory'
import { testStreams } from '../under-test/test-streams.js'
import { useMariadbShards } from '../under-test/use-shards.js'

const started = useMariadbShards({ settings: { innodb_flush_log_at_trx_commit: '0' } })

const OPEN =
  "information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id WHERE p.db IN ('a', 'b', 'c') AND p.id <> CONNECTION_ID()"

/** InnoDB refreshes this table only if it was not read for 0.1 seconds: more frequent reads return the same rows for ever. */
const REFRESH_MS = 150

async function ask(what: string) {
  await delay(REFRESH_MS)
  return started().databases.run('a', `SELECT ${what} FROM ${OPEN}`)
}

testStreams({
  started,
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
    for (const { id } of rows.filter(({ db }) => db === shard)) await started().databases.run('a', `KILL ${id}`)
  },
})
