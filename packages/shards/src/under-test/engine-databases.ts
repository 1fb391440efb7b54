/** For tests: the databases of a running MariaDB and of a running PostgreSQL, used directly and not through Freshet. */
import { createConnection } from 'mariadb'
import pg from 'pg'
import type { Databases } from './sharded-engine.js'

export async function mariadbDatabases({
  port,
  url,
}: {
  readonly port: number
  readonly url: string
}): Promise<Databases> {
  const connection = await createConnection({ host: '127.0.0.1', port, user: 'root' })
  return {
    create: async name => {
      await connection.query(`CREATE DATABASE ${name}`)
    },
    run: async (name, text, values = []) => {
      await connection.query(`USE ${name}`)
      const rows: unknown = await connection.query(text, [...values])
      return Array.isArray(rows) ? rows : []
    },
    urlOf: name => url.replace(/\/[^/]*$/, `/${name}`),
    close: () => connection.end(),
  }
}

export async function postgresDatabases({ url }: { readonly url: string }): Promise<Databases> {
  const urlOf = (name: string) => url.replace(/\/[^/]*$/, `/${name}`)
  const clients = new Map<string, pg.Client>()
  const clientOf = async (name: string) => {
    const known = clients.get(name)
    if (known) return known
    const client = new pg.Client({ connectionString: urlOf(name) })
    await client.connect()
    clients.set(name, client)
    return client
  }
  return {
    create: async name => {
      const admin = await clientOf('postgres')
      await admin.query(`CREATE DATABASE ${name} TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'`)
    },
    run: async (name, text, values = []) => (await (await clientOf(name)).query(text, [...values])).rows,
    urlOf,
    close: async () => {
      for (const client of clients.values()) await client.end()
    },
  }
}
