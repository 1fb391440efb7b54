/** What `--store` takes: `embedded`, or the address of an engine or of several that are a ring, whose passwords are not shown. */
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

/** Whether it is the address of one. */
export function isEngine(text: string): boolean {
  return isRing(text) || isEngineAddress(text)
}

/** What to say of it; `otherwise` is what it may be instead of an address. A text that is refused may hold a password all the same. */
export function noStore(text: string, otherwise: string): string {
  const guess = guessAddress(text, otherwise === EMBEDDED ? [EMBEDDED] : [])
  return `it is ${otherwise}, or an address that begins with postgres://, mariadb://, redis://, cassandra:// or sqlite:, or ring: and several of these.${guess}`
}

export function withoutPassword(url: string): string {
  return url.replace(/([a-z]+:\/\/[^:@/]*):[^@/]*@/g, '$1:***@')
}
