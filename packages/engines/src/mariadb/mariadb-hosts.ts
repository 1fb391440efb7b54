/** Where MariaDB is, from an address. */

import { storeUnusable } from '@freshet/store/engine'
import { replicasIn } from '@freshet/store/reads'
import type { ConnectionConfig } from 'mariadb'
import { addressesIn, Hosts, placesOf } from '../sql/hosts.js'

export interface Where {
  readonly hosts: Hosts<ConnectionConfig>
  /** For messages: without user and password. */
  readonly place: string
}

export interface Address extends Where {
  readonly replicas: readonly Where[]
}

const PORT = 3306

export function addressOf(url: string): Address {
  const named = addressesIn(url).map(replicasIn)
  const replicas = named[0]!.replicas.map(replica => whereOf([replica]))
  return { ...whereOf(named.map(each => each.url)), replicas }
}

function whereOf(urls: readonly string[]): Where {
  const configs = urls.map(configOf)
  return { hosts: new Hosts(configs), place: placesOf(configs.map(placeOf)) }
}

function placeOf({ host, port, database }: ConnectionConfig): string {
  return `${host}:${port}/${database}`
}

function configOf(text: string): ConnectionConfig {
  try {
    const { protocol, hostname, port, username, password, pathname, searchParams } = new URL(text)
    if (protocol !== 'mariadb:' && protocol !== 'mysql:')
      throw new TypeError(`${protocol} is not a protocol of MariaDB`)
    const database = decodeURIComponent(pathname.slice(1))
    if (database === '') throw new TypeError('it names no database')
    return {
      host: hostname.replace(/^\[|\]$/g, '') || 'localhost',
      port: Number(port) || PORT,
      database,
      ...(username && { user: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      ...(searchParams.get('ssl') === 'true' && { ssl: true }),
    }
  } catch (cause) {
    throw storeUnusable('the URL given', 'it cannot be understood', cause)
  }
}
