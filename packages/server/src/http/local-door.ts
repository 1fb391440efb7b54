/**
 * Without rules, every client that reaches a server may do everything, and every web page in a browser can reach servers that
 * listen on the browser's machine. Two headers, which browsers set and pages cannot change, show where a request comes from:
 *
 * - `Origin` names the page that sends the request. Pages of other machines are refused, for reads and writes alike, and also
 *   for requests that CORS lets through without a preflight.
 * - `Host` names the server that the request is for. A page may point its own name to 127.0.0.1 (DNS rebinding) and so have the
 *   same origin, but it cannot use an address. So a name that is not this machine's is refused.
 */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { FreshetError } from '@freshet/protocol'

const ORIGIN = /^https?:\/\/([^/]+)$/
const PORT = /:[0-9]*$/
const TO_OPEN =
  'give it access rules (--rules), list the web pages that may use it (--cors-origins), or pass --insecure.'

export class LocalDoor {
  /** The last accepted host: most requests have the same. */
  #host = ''

  /** Both arguments as in the request. */
  admits(host: string | undefined, origin: string | undefined): boolean {
    return this.#isOwn(host) && (origin === undefined || isOfThisMachine(origin, host))
  }

  /** Throws HOST_REFUSED, ORIGIN_REFUSED. */
  check({ headers: { host, origin } }: IncomingMessage): void {
    if (!this.#isOwn(host)) throw refused('HOST_REFUSED', `not those sent to ${host}`)
    if (origin !== undefined && !isOfThisMachine(origin, host)) {
      throw refused('ORIGIN_REFUSED', `not those from pages of ${origin}`)
    }
  }

  /** A request without Host is accepted, since every browser sends one. */
  #isOwn(host: string | undefined): boolean {
    if (host === undefined || host === this.#host) return true
    const name = nameOf(host)
    if (!isLocalName(name) && isIP(name) === 0) return false
    this.#host = host
    return true
  }
}

/** Or of the machine that the request was sent to, whose name has been checked. */
function isOfThisMachine(origin: string, host: string | undefined): boolean {
  const [, place] = ORIGIN.exec(origin) ?? []
  return place !== undefined && (place === host || isLoopback(nameOf(place)))
}

function isLoopback(name: string): boolean {
  return isLocalName(name) || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}

/** RFC 6761, 6.3: the names that never leave the machine. */
function isLocalName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

/** Without the port, and the brackets of IPv6. */
function nameOf(place: string): string {
  const name = place.startsWith('[') ? place.slice(1, place.indexOf(']')) : place.replace(PORT, '')
  return name.toLowerCase()
}

function refused(code: 'HOST_REFUSED' | 'ORIGIN_REFUSED', what: string): FreshetError {
  return new FreshetError(
    code,
    `This server has no access rules, so it accepts only requests of this machine, ${what}. To open it to others, ${TO_OPEN}`,
  )
}
