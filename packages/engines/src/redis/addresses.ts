/** Where Redis may be: the given addresses and those learnt since, which are tried in turn. */
import type { RedisAddress } from './address.js'
import { connectTo, endClient, whereOf } from './client.js'
import { unusable, wordOf } from './redis-errors.js'

export class Addresses {
  readonly #given: RedisAddress
  #used: string | undefined
  #learnt: readonly string[] = []

  constructor(given: RedisAddress) {
    this.#given = given
  }

  /** For messages: the hosts. */
  get place(): string {
    return this.#given.place
  }

  /** Each function returns an address to try, or throws the reason why it has none. */
  inTurn(): readonly (() => Promise<string>)[] {
    const { urls, sentinel } = this.#given
    if (sentinel !== undefined) return urls.map(url => () => primaryBy(url, sentinel))
    // The address used last comes first: a Redis that has just restarted may not know yet that another has taken over.
    const all = [...(this.#used === undefined ? [] : [this.#used]), ...urls, ...this.#learnt]
    return [...new Set(all)].map(url => async () => url)
  }

  /** Redis was found at this address. */
  use(url: string): void {
    this.#used = url
  }

  /** All nodes of the cluster, as one of them reported. */
  learn(urls: readonly string[]): void {
    this.#learnt = urls
  }
}

/** The same address, with another host and port. */
export function atHost(url: string, host: string, port: number | string): string {
  const address = new URL(url)
  if (host !== '') address.hostname = host.includes(':') ? `[${host}]` : host
  address.port = `${port}`
  return address.href
}

/** The primary's address, from a sentinel: https://redis.io/docs/latest/develop/reference/sentinel-clients/ */
async function primaryBy(sentinelUrl: string, name: string): Promise<string> {
  const withPassword = new URL(sentinelUrl)
  withPassword.pathname = ''
  const bare = new URL(withPassword)
  bare.username = ''
  bare.password = ''
  const found = await askForPrimary(bare.href, name).catch(error => {
    // The user and the password belong to Redis; a sentinel that has none would not accept them.
    if (wordOf(error) !== 'NOAUTH') throw error
    return askForPrimary(withPassword.href, name)
  })
  if (found === null) throw unusable(whereOf(sentinelUrl), `it is a sentinel that knows no primary called ${name}`)
  return atHost(sentinelUrl, String(found[0]), String(found[1]))
}

async function askForPrimary(url: string, name: string): Promise<readonly Buffer[] | null> {
  const client = await connectTo(url)
  try {
    return (await client.sendCommand(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name])) as readonly Buffer[] | null
  } finally {
    endClient(client)
  }
}
