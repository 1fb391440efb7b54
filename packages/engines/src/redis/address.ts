/**
 * The address of a store in Redis: `redis://user:password@a:6379,b:6379/0?replicas=c:6379`, or `rediss://` with TLS. Several
 * hosts are nodes of one cluster, or a primary and the replicas that may take over from it. `?sentinel=NAME`: the hosts are
 * sentinels, which know where the primary of that name is. `?replicas=`: replicas to read from; not for a cluster.
 */
import { replicasIn } from '@freshet/store/reads'
import { whereOf } from './client.js'
import { unusable } from './redis-errors.js'

export interface RedisAddress {
  /** An address for each host. */
  readonly urls: readonly string[]
  readonly replicas: readonly string[]
  /** The name that sentinels have for the primary; undefined: the hosts are not sentinels. */
  readonly sentinel: string | undefined
  /** For messages: the hosts. */
  readonly place: string
}

const ADDRESS = /^(rediss?:\/\/(?:[^@/?#]*@)?)([^@/?#]*)(.*)$/
const HOST = /^(?:\[[0-9a-f:.]+\]|[^\s:,[\]]*)(?::\d{1,5})?$/i
const SENTINEL = 'sentinel'
const SENTINEL_PORT = '26379'

/** Throws STORE_UNUSABLE if the address cannot be parsed. */
export function parseAddress(given: string | readonly string[]): RedisAddress {
  const hosts = (typeof given === 'string' ? [given] : given).flatMap(hostsIn).map(parseHost)
  const names = [...new Set(hosts.map(({ sentinel }) => sentinel))]
  if (names.length !== 1) throw mistake('all addresses should name the same sentinels, or no sentinels')
  const urls = [...new Set(hosts.map(({ url }) => url))]
  const replicas = [...new Set(hosts.flatMap(each => each.replicas))]
  return { urls, replicas, sentinel: names[0], place: urls.map(whereOf).join(',') }
}

/** One address for each host in the text. */
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
  if (!URL.canParse(text)) throw mistake('it contains an invalid host, port or name')
  const url = new URL(text)
  const sentinel = url.searchParams.get(SENTINEL) ?? undefined
  if (sentinel === undefined) return { ...replicasIn(text), sentinel }
  if (sentinel === '') throw mistake('sentinel= should be followed by the name that the sentinels have for the primary')
  url.searchParams.delete(SENTINEL)
  if (url.port === '') url.port = SENTINEL_PORT
  return { ...replicasIn(url.href), sentinel }
}

function mistake(why: string): Error {
  return unusable('the address given', why)
}
