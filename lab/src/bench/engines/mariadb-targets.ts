/**
 * The same work in MariaDB with the driver: the store's upserts and selects, prepared, one connection per upsert in flight, and
 * reads pipelined on four connections.
 */
import { type Connection, createConnection } from 'mariadb'
import { BODY, type EnginesSettings, type Target, TYPE } from './engine-target.js'

const TABLE =
  'CREATE TABLE plain (`key` VARBINARY(700) PRIMARY KEY, version BIGINT, type VARCHAR(255), body LONGBLOB) ENGINE = InnoDB'
const UPSERT =
  'INSERT INTO plain VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE version = VALUES(version), body = VALUES(body)'
const SELECT = 'SELECT version, type, body FROM plain WHERE `key` = ?'
const READERS = 4

export async function prepareMariadb(url: string): Promise<void> {
  const connection = await createConnection(url)
  await connection.query(TABLE)
  await connection.end()
}

export async function openMariadbTarget({ url, inFlight }: EnginesSettings): Promise<Target> {
  const open = (count: number) => Promise.all(Array.from({ length: count }, () => createConnection(url)))
  const [free, readers] = [await open(inFlight), await open(READERS)] as [Connection[], Connection[]]
  let next = 0
  return {
    async commit(keys) {
      const own = free.pop()!
      await own.execute(UPSERT, [keys[0], 1, TYPE, BODY])
      free.push(own)
    },
    get: key => readers[next++ % READERS]!.execute(SELECT, [key]),
    batch: 1,
  }
}
