/**
 * Replicas that are named in the URL of a database: `?replicas=host:port,host:port`. The rest of the URL is the same for
 * them.
 */
import { storeUnusable } from '../engine/store-errors.js'

export interface NamedReplicas {
  /** Without the replicas. */
  readonly url: string
  readonly replicas: readonly string[]
}

const NAME = 'replicas'
const HOST = /^(\[[0-9a-f:.]+\]|[^\s:@/?#[\]]+)(:\d{1,5})?$/i

export function replicasIn(text: string): NamedReplicas {
  if (!text.includes(`${NAME}=`)) return { url: text, replicas: [] }
  try {
    const url = new URL(text)
    const hosts = url.searchParams.get(NAME)?.split(',') ?? []
    url.searchParams.delete(NAME)
    return { url: url.href, replicas: hosts.filter(host => host !== '').map(host => at(url, host)) }
  } catch (cause) {
    throw storeUnusable(
      'the URL given',
      'its replicas cannot be understood. Write ?replicas=host:port,host:port',
      cause,
    )
  }
}

function at(url: URL, host: string): string {
  if (!HOST.test(host)) throw new TypeError(`${host} is not a host`)
  const replica = new URL(url)
  // If only `host` were set, a host without a port would keep the primary's port.
  replica.port = ''
  replica.host = host
  return replica.href
}
