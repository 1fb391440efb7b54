/**
 * Where a store in Redis is: `redis://user:password@a:6379,b:6379/0?replicas=c:6379`, `rediss://` with TLS. Several hosts are nodes of one
 * cluster, or a primary and those that may take over from it. `?sentinel=NAME`: they are sentinels, who know where the primary is that
 * goes by that name. `?replicas=`: from these may be read; not of a cluster.
 */
import { replicasIn } from '@freshet/store/reads'
import { whereOf } from './client.js'
import { unusable } from './redis-errors.js'

export interface RedisAddress {
  /** One for each host. */
  readonly urls: readonly string[]
  readonly replicas: readonly string[]
  /** What sentinels call the primary; undefined: the hosts are no sentinels. */
  readonly sentinel: string | undefined
  /** For messages. */
  readonly place: string
}

const ADDRESS = /^(rediss?:\/\/(?:[^@/?#]*@)?)([^@/?#]*)(.*)$/
const HOST = /^(?:\[[0-9a-f:.]+\]|[^\s:,[\]]*)(?::\d{1,5})?$/i
const SENTINEL = 'sentinel'
const SENTINEL_PORT = '26379'

/** Throws STORE_UNUSABLE if it cannot be understood. */
export function parseAddress(given: string | readonly string[]): RedisAddress {
  const hosts = (typeof given === 'string' ? [given] : given).flatMap(hostsIn).map(parseHost)
  const names = [...new Set(hosts.map(({ sentinel }) => sentinel))]
  if (names.length !== 1) throw mistake('all of it should be of the same sentinels')
  const urls = [...new Set(hosts.map(({ url }) => url))]
  const replicas = [...new Set(hosts.flatMap(each => each.replicas))]
  return { urls, replicas, sentinel: names[0], place: urls.map(whereOf).join(',') }
}

/** An address for each host of one. */
function hostsIn(text: string): string[] {
  const [, before, servers = '', after] = ADDRESS.exec(text) ?? []
  const hosts = servers.split(',')
  const isList = hosts.length > 1
  if (before === undefined || hosts.some(host => !HOST.test(host) || (isList && host === ''))) {
    throw mistake('it should be like redis://host:6379, or redis://host1:6379,host2:6379 if there are several')
  }
  return hosts.map(host => `${before}${host}${after}`)
}

function parseHost(text: string): { url: string; replicas: readonly string[]; sentinel: string | undefined } {
  if (!URL.canParse(text)) throw mistake('a host, a port or a name in it cannot be one')
  const url = new URL(text)
  const sentinel = url.searchParams.get(SENTINEL) ?? undefined
  if (sentinel === undefined) return { ...replicasIn(text), sentinel }
  if (sentinel === '') throw mistake('after sentinel= should be what the sentinels call the primary')
  url.searchParams.delete(SENTINEL)
  if (url.port === '') url.port = SENTINEL_PORT
  return { ...replicasIn(url.href), sentinel }
}

function mistake(why: string): Error {
  return unusable('the address given', why)
}
