import type { Connection } from 'mariadb'

/** Sets up each new connection. */
export async function settle(connection: Connection, isolation: string, patienceMs: number): Promise<void> {
  // A server that hangs in the middle of a transaction must not keep the head locked for all others.
  const patience = Math.max(1, Math.ceil(patienceMs / 1000))
  await connection.query(`
    SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00', autocommit = 1,
      innodb_lock_wait_timeout = ${patience}, lock_wait_timeout = ${patience}, idle_transaction_timeout = ${patience},
      in_predicate_conversion_threshold = 0, max_statement_time = 0, lc_messages = 'en_US';
    SET SESSION TRANSACTION ISOLATION LEVEL ${isolation}, READ WRITE`)
}
