/** What `--store` takes: `embedded`, or the address of an engine, whose password is not shown. */
import { TEXT, type ValueKind } from './value-kinds.js'

export const EMBEDDED = 'embedded'
const SCHEMES = ['postgres', 'postgresql', 'mariadb', 'mysql', 'redis', 'rediss', 'cassandra'] as const

export const STORE: ValueKind<string> = {
  ...TEXT,
  placeholder: 'URL',
  wants: `${EMBEDDED}, or an address such as postgres://user@host/database, mariadb://user@host/database, redis://host or cassandra://host/keyspace`,
  parse: text => (text === EMBEDDED || isEngine(text) ? text : undefined),
  // A text that is refused may hold a password all the same.
  mistakes: text =>
    STORE.parse(text) === undefined
      ? [`it is ${EMBEDDED}, or an address that begins with postgres://, mariadb://, redis:// or cassandra://.`]
      : [],
  show: withoutPassword,
}

/** Whether it is the address of one. */
export function isEngine(text: string): boolean {
  return SCHEMES.some(scheme => text.startsWith(`${scheme}://`))
}

export function withoutPassword(url: string): string {
  return url.replace(/^([a-z]+:\/\/[^:@/]*):[^@/]*@/, '$1:***@')
}
