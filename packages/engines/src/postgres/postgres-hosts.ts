/** Where PostgreSQL is, from an address. */

import { EngineLost, storeUnusable } from '@freshet/store/engine'
import { replicasIn } from '@freshet/store/reads'
import pg from 'pg'
import { addressesIn, Hosts, placesOf } from '../sql/hosts.js'
import { toEngineError } from './postgres-errors.js'

export type Config = pg.ClientConfig & { readonly pipeline: boolean }

export interface Where {
  readonly hosts: Hosts<Config>
  /** For messages: without user and password. */
  readonly place: string
}

export interface Address extends Where {
  readonly replicas: readonly Where[]
}

/** The shorter timeout of one host among several. */
const DIAL_MS_MAX = 2000

export function addressOf(url: string): Address {
  const named = addressesIn(url).map(replicasIn)
  const replicas = named[0]!.replicas.map(replica => whereOf([replica]))
  return { ...whereOf(named.map(each => each.url)), replicas }
}

/** A connection to the primary, for one task. */
export function dialFirst({ hosts, place }: Where, patienceMs: number): Promise<pg.Client> {
  return hosts.first(config =>
    dial(config, hosts.isSeveral, patienceMs).catch(error => Promise.reject(toEngineError(place, error, false))),
  )
}

/** With several hosts, only to one that is not a standby. Throws the driver's errors. */
export async function dial(config: Config, isOneOfSeveral: boolean, patienceMs: number): Promise<pg.Client> {
  const connectionTimeoutMillis = isOneOfSeveral ? Math.min(patienceMs, DIAL_MS_MAX) : patienceMs
  const client = new pg.Client({ ...config, connectionTimeoutMillis })
  client.on('error', () => {})
  try {
    await client.connect()
    if (isOneOfSeveral) await checkPrimary(client)
    return client
  } catch (error) {
    client.end().catch(() => {})
    throw error
  }
}

/** Throws `EngineLost` if it is a standby: it may yet be promoted, or another host may be the primary. */
export async function checkPrimary(client: pg.Client): Promise<void> {
  const { rows } = await client.query('SELECT pg_is_in_recovery() AS "isStandby"')
  if (rows[0].isStandby) throw new EngineLost('it is a standby, which is read-only', false)
}

function whereOf(urls: readonly string[]): Where {
  const configs = urls.map(
    (connectionString): Config => ({ connectionString, pipeline: true, keepAlive: true, application_name: 'freshet' }),
  )
  return { hosts: new Hosts(configs), place: placesOf(configs.map(placeOf)) }
}

function placeOf(config: pg.ClientConfig): string {
  try {
    const { host, port, database } = new pg.Client(config)
    return `${host}:${port}/${database}`
  } catch (cause) {
    throw storeUnusable('the URL given', 'it cannot be understood', cause)
  }
}
