/** The address that a request came from, past the proxies that are trusted to report it. */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

export class ClientAddresses {
  readonly #trusted: BlockList
  readonly #trustsAny: boolean

  /** Addresses and networks (10.0.0.0/8) whose X-Forwarded-For is believed. Throws a TypeError. */
  constructor(trustedProxies: readonly string[] = []) {
    this.#trusted = blockListOf(trustedProxies)
    this.#trustsAny = trustedProxies.length > 0
  }

  /** The last address on the way that is not a trusted proxy's. */
  addressOf(request: IncomingMessage): string {
    let address = plain(request.socket.remoteAddress ?? '')
    if (!this.#isTrusted(address)) return address
    const hops = forwardedFor(request.headers)
    for (let i = hops.length - 1; i >= 0; i--) {
      const hop = plain(hops[i]!)
      if (isIP(hop) === 0) return address
      address = hop
      if (!this.#isTrusted(address)) return address
    }
    return address
  }

  /** The unit of limits: the address, or the network of an IPv6 address, since its owner has 2^64 addresses. */
  networkOf(request: IncomingMessage): string {
    const address = this.addressOf(request)
    return isIP(address) === 6 ? first64Bits(address) : address
  }

  #isTrusted(address: string): boolean {
    if (!this.#trustsAny) return false
    const family = isIP(address)
    return family !== 0 && this.#trusted.check(address, family === 4 ? 'ipv4' : 'ipv6')
  }
}

function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address)
    if (family === 0) throw new TypeError(`${network} is not an address or network, such as 10.0.0.5 or 10.0.0.0/8.`)
    const type = family === 4 ? 'ipv4' : 'ipv6'
    if (bits === undefined) list.addAddress(address, type)
    else list.addSubnet(address, Number(bits), type)
  }
  return list
}

/** The nearest hop comes last. Ignores Forwarded (RFC 7239), since most proxies pass it on as the client wrote it. */
function forwardedFor(headers: IncomingMessage['headers']): readonly string[] {
  return String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .map(hop => hop.trim())
    .filter(hop => hop !== '')
}

/** Returns an IPv4 address as such, even if the socket is an IPv6 one. */
function plain(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address
}

function first64Bits(address: string): string {
  const [head = '', tail] = address.split('::')
  const before = head.split(':').filter(part => part !== '')
  const missing = tail === undefined ? 0 : 8 - before.length - tail.split(':').filter(part => part !== '').length
  return [...before, ...Array.from({ length: missing }, () => '0')].slice(0, 4).join(':')
}
