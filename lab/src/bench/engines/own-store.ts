/** Opens one of several stores in an engine, by its name. */
import type { Store } from '@freshet/core/store'
import { openCassandraStore } from '@freshet/engines/cassandra'
import { openMariadbStore } from '@freshet/engines/mariadb'
import { openPostgresStore } from '@freshet/engines/postgres'
import { openRedisStore } from '@freshet/engines/redis'
import { openSqliteStore } from '@freshet/engines/sqlite'
import type { EngineName } from '../../engines/engine-name.js'
import { sqlitePathBeside } from '../../engines/sqlite.js'

const OPEN: Readonly<Record<EngineName, (url: string, name: string) => Promise<Store>>> = {
  PostgreSQL: (url, name) => openPostgresStore({ url, schema: name }),
  MariaDB: (url, name) => openMariadbStore({ url, prefix: `${name}_` }),
  Redis: (url, name) => openRedisStore({ url, name }),
  // The store's servers share the processors with Cassandra: slowness is measured, and is not an error.
  Cassandra: (url, name) =>
    openCassandraStore({
      url: `${url}/freshet?name=${name}`,
      answerMsMax: 20_000,
      waitMsMax: 60_000,
      onWarning: () => {},
    }),
  SQLite: (url, name) => openSqliteStore({ path: sqlitePathBeside(url, name) }),
}

export function openOwnStore(engine: EngineName, url: string, name: string): Promise<Store> {
  return OPEN[engine](url, name)
}
