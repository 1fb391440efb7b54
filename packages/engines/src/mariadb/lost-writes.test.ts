import { createConnection } from 'mariadb'
import { expect, test } from 'vitest'
import { put } from '../under-test/commits.js'
import { SqlStage } from '../under-test/sql-stage.js'
import { endMariadb, type RunningMariadb, startMariadb } from '../under-test/start-mariadb.js'
import { killAndStart, LOSSY_SPACE, testLostWrites } from '../under-test/test-lost-writes.js'
import { openMariadbStore } from './open-mariadb-store.js'

const REPLICATED = { log_bin: 'binary-log', sync_binlog: '1', server_id: '1' }
const stage = new SqlStage({
  start: startMariadb,
  end: endMariadb,
  open: ({ space, ...options }) => openMariadbStore({ ...options, prefix: space }),
  committing: 'log VALUES (',
})

testLostWrites(stage, async () => {
  const primary = await startMariadb({ settings: REPLICATED })
  const replica = await startMariadb({ replicaOf: primary })
  return {
    ...{ primary, replica, positionOfReplica: () => positionOf(replica) },
    stopFollowing: async () => {
      await tell(replica, 'STOP SLAVE')
    },
    promote: async () => {
      await tell(replica, 'RESET SLAVE ALL; SET GLOBAL read_only = OFF')
    },
  }
})

test('innodb_flush_log_at_trx_commit = 2 and a restart: the log is another one, even for a new server', async () => {
  const mariadb = await startMariadb({ settings: { innodb_flush_log_at_trx_commit: '2' } })
  const open = () => stage.open({ url: mariadb.url, space: LOSSY_SPACE, onWarning: () => {} })
  const [store, other] = [await open(), await open()]
  const { log } = store
  const before = await put(store, 'a/b/1')
  await other.close()
  await killAndStart(mariadb)
  const late = await open()
  expect(late.log).not.toBe(log)
  expect(await put(store, 'a/b/2')).toBeGreaterThan(before)
  await expect(store.changes(before)).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
  // Only once: a server that connects later finds it done.
  expect(store.log).toBe(late.log)
})

async function positionOf(mariadb: RunningMariadb): Promise<number> {
  // The table itself is created by replication.
  const rows = await tell(mariadb, `SELECT position FROM freshet.${LOSSY_SPACE}head`).catch(() => [])
  return Number((rows as readonly { position: bigint }[])[0]?.position ?? 0)
}

async function tell({ port }: RunningMariadb, text: string): Promise<unknown> {
  const connection = await createConnection({ host: '127.0.0.1', port, user: 'root', multipleStatements: true })
  try {
    return await connection.query(text)
  } finally {
    await connection.end()
  }
}
