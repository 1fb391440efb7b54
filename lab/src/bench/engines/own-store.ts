/** A store of a name of its own in an engine, where there may be several. */
import type { Store } from '@freshet/core/store'
import { openCassandraStore } from '@freshet/stores/cassandra'
import { openMariadbStore } from '@freshet/stores/mariadb'
import { openPostgresStore } from '@freshet/stores/postgres'
import { openRedisStore } from '@freshet/stores/redis'
import type { EngineName } from './engine-target.js'

const OPEN: Readonly<Record<EngineName, (url: string, name: string) => Promise<Store>>> = {
  PostgreSQL: (url, name) => openPostgresStore({ url, schema: name }),
  MariaDB: (url, name) => openMariadbStore({ url, prefix: `${name}_` }),
  Redis: (url, name) => openRedisStore({ url, name }),
  // Its servers share the processors with it: that it is slow is measured, and no error.
  Cassandra: (url, name) =>
    openCassandraStore({
      url: `${url}/freshet?name=${name}`,
      answerMsMax: 20_000,
      waitMsMax: 60_000,
      onWarning: () => {},
    }),
}

export function openOwnStore(engine: EngineName, url: string, name: string): Promise<Store> {
  return OPEN[engine](url, name)
}
