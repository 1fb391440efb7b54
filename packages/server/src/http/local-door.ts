/**
 * Without rules, whoever reaches a server may do everything; and every web page that somebody looks at reaches what listens on their own
 * machine. It is told apart by what browsers say and pages cannot change:
 *
 * - `Origin` names the page that asks. One of another machine is refused, reads and writes alike, also those that CORS lets through unasked.
 * - `Host` names whom it asks. A page may have its own name point to 127.0.0.1 (DNS rebinding), and then is of the same origin; but never an
 *   address. So a name that is not this machine's is refused.
 */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { FreshetError } from '@freshet/protocol'

const ORIGIN = /^https?:\/\/([^/]+)$/
const PORT = /:[0-9]*$/
const TO_OPEN = 'give it access rules (--rules), or say which web pages may use it (--cors-origins), or --insecure.'

export class LocalDoor {
  /** The last one that was found to be good: most requests have the same. */
  #host = ''

  /** Both as the request has them. */
  admits(host: string | undefined, origin: string | undefined): boolean {
    return this.#isOwn(host) && (origin === undefined || isOfThisMachine(origin, host))
  }

  /** Throws HOST_REFUSED, ORIGIN_REFUSED. */
  check({ headers: { host, origin } }: IncomingMessage): void {
    if (!this.#isOwn(host)) throw refused('HOST_REFUSED', `not those sent to ${host}`)
    if (origin !== undefined && !isOfThisMachine(origin, host)) {
      throw refused('ORIGIN_REFUSED', `not those of pages of ${origin}`)
    }
  }

  /** No browser leaves it out. */
  #isOwn(host: string | undefined): boolean {
    if (host === undefined || host === this.#host) return true
    const name = nameOf(host)
    if (!isLocalName(name) && isIP(name) === 0) return false
    this.#host = host
    return true
  }
}

/** Or of whichever machine the request was sent to, which has been looked at. */
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
    `This server has no access rules, so it takes requests of this machine alone, ${what}. To open it to others, ${TO_OPEN}`,
  )
}
