/**
 * The address of a store in Cassandra:
 *
 *     cassandra://user:password@host1,host2:9042/keyspace?name=main&replication=3&read=quorum&write=quorum&dc=east&tls=true
 *
 * `name`: the name of the store; one keyspace may hold several stores.
 * `replication`: how many copies the keyspace keeps, if it has to be created.
 * `read` and `write`: how many copies each read and write of an object's row waits for (one, quorum, all). The log always
 * uses a majority. `read=current`: an object is read from one copy, and from a majority only if that copy is behind.
 * `dc`: the data centre that all servers are in; reads and writes then need a majority of its copies alone.
 */
import { storeUnusable } from '@freshet/store/engine'

export interface CassandraAddress {
  readonly hosts: readonly string[]
  readonly port: number
  readonly keyspace: string
  readonly name: string
  readonly replication: number
  readonly read: Level
  readonly write: Level
  /** Objects are read from one copy first (`read=current`). */
  readonly readsNearest: boolean
  readonly dc: string | undefined
  readonly user: string | undefined
  readonly password: string | undefined
  readonly isEncrypted: boolean
  /** For messages: the address without user and password. */
  readonly place: string
}

export type Level = 'one' | 'quorum' | 'all'

const LEVELS: readonly Level[] = ['one', 'quorum', 'all']
const PORT = 9042
const ADDRESS = /^cassandra:\/\/(?:([^:@/?]*)(?::([^@/?]*))?@)?([^/?@]+)(?:\/([^/?]*))?(?:\?(.*))?$/
const KEYSPACE = /^[a-z][a-z0-9_]{0,47}$/
const NAMES = ['name', 'replication', 'read', 'write', 'dc', 'tls']

/** Throws STORE_UNUSABLE if the address cannot be parsed. */
export function parseAddress(url: string): CassandraAddress {
  const parts = ADDRESS.exec(url)
  if (parts === null) throw mistake('it should be like cassandra://host1,host2:9042/keyspace')
  const [, user, password, servers, keyspace = '', query = ''] = parts
  const { hosts, port } = parseServers(servers!)
  const options = new URLSearchParams(query)
  for (const option of options.keys()) if (!NAMES.includes(option)) throw mistake(`there is no option ${option} in it`)
  const name = keyspace === '' ? 'freshet' : keyspace
  if (!KEYSPACE.test(name)) throw mistake(`${JSON.stringify(name)} cannot be a keyspace`)
  const readsNearest = options.get('read') === 'current'
  if (readsNearest) options.delete('read')
  const replication = Number(options.get('replication') ?? Math.min(3, hosts.length))
  if (!Number.isInteger(replication) || replication < 1) throw mistake('replication should be a whole number from 1')
  return {
    hosts,
    port,
    keyspace: name,
    name: options.get('name') ?? 'main',
    replication,
    read: parseLevel(options, 'read'),
    write: parseLevel(options, 'write'),
    readsNearest,
    dc: options.get('dc') ?? undefined,
    user: user === undefined ? undefined : decodeURIComponent(user),
    password: password === undefined ? undefined : decodeURIComponent(password),
    isEncrypted: options.get('tls') === 'true',
    place: `${hosts.join(',')}:${port}/${name}`,
  }
}

function parseServers(text: string): { readonly hosts: readonly string[]; readonly port: number } {
  const servers = text.split(',').map(server => /^(.+?)(?::(\d+))?$/.exec(server))
  const ports = new Set(servers.flatMap(server => (server?.[2] === undefined ? [] : [Number(server[2])])))
  if (servers.includes(null) || ports.size > 1)
    throw mistake('all nodes should use the same port, written after the last host')
  return { hosts: servers.map(server => server![1]!), port: [...ports][0] ?? PORT }
}

function parseLevel(options: URLSearchParams, name: 'read' | 'write'): Level {
  const level = LEVELS.find(each => each === (options.get(name) ?? 'quorum'))
  if (level === undefined)
    throw mistake(`${name} should be one of ${LEVELS.join(', ')}${name === 'read' ? ', current' : ''}`)
  return level
}

function mistake(why: string): Error {
  return storeUnusable('the address given', why)
}

/** Throws unless every read of a row asks at least one of the copies that the write of the row has waited for. */
export function checkOverlap({ read, write, place }: CassandraAddress, copies: number): void {
  const count = { one: 1, quorum: Math.floor(copies / 2) + 1, all: copies }
  if (count[read] + count[write] > copies) return
  throw storeUnusable(
    place,
    `with read=${read} and write=${write} of ${copies} copies, a read may miss an earlier write. Leave both at quorum, ` +
      'or make one of them all',
  )
}
