/** What `--store` takes: `embedded`, or the address of an engine or of several in a ring. Passwords in it are not shown. */
import { guessAddress, isEngineAddress } from './engine-address.js'
import { isRing } from './ring-address.js'
import { TEXT, type ValueKind } from './value-kinds.js'

export const EMBEDDED = 'embedded'

export const STORE: ValueKind<string> = {
  ...TEXT,
  placeholder: 'URL',
  wants: `${EMBEDDED}, or an address such as postgres://user@host/database, mariadb://user@host/database, redis://host, cassandra://host/keyspace or sqlite:./shop.db; or a ring of three, ring:redis://a,redis://b,redis://c`,
  parse: text => (text === EMBEDDED || isEngine(text) ? text : undefined),
  mistakes: text => (STORE.parse(text) === undefined ? [noStore(text, EMBEDDED)] : []),
  show: withoutPassword,
}

/** Whether the text is the address of an engine or a ring. */
export function isEngine(text: string): boolean {
  return isRing(text) || isEngineAddress(text)
}

/**
 * Why a text is refused; `otherwise` is what it may be instead of an address. The text may hold a password, so it is not quoted.
 */
export function noStore(text: string, otherwise: string): string {
  const guess = guessAddress(text, otherwise === EMBEDDED ? [EMBEDDED] : [])
  return `it must be ${otherwise}, or an address that begins with postgres://, mariadb://, redis://, cassandra:// or sqlite:, or ring: and several of these.${guess}`
}

export function withoutPassword(url: string): string {
  return url.replace(/([a-z]+:\/\/[^:@/]*):[^@/]*@/g, '$1:***@')
}
