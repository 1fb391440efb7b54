/** Addresses of engines, and what somebody meant whose address is of none. */
import { didYouMean } from './nearest-name.js'

const SCHEMES = ['postgres', 'postgresql', 'mariadb', 'mysql', 'redis', 'rediss', 'cassandra'] as const
/** A file, so that no host follows it. */
const SQLITE = 'sqlite:'

/** Of one; a ring has several. */
export function isEngineAddress(text: string): boolean {
  return SCHEMES.some(scheme => text.startsWith(`${scheme}://`)) || sqlitePath(text) !== undefined
}

/** The file of `sqlite:./shop.db`; undefined if it is no such address. */
export function sqlitePath(text: string): string | undefined {
  const path = text.slice(SQLITE.length)
  const isHost = /^\/\/[^/]/.test(path)
  return text.startsWith(SQLITE) && path !== '' && !isHost ? path : undefined
}

/** It has the form of an address, and no engine's: as a folder it would have a password in its name. */
export function isUnknownAddress(text: string): boolean {
  return text.includes('://') && !isEngineAddress(text)
}

/** As the end of a sentence, or nothing. `words` may stand in its place. What is behind the scheme may be a password, and is not looked at. */
export function guessAddress(text: string, words: readonly string[] = []): string {
  const [scheme = ''] = text.split(':')
  return didYouMean(scheme, [...SCHEMES, 'sqlite', ...words], name =>
    name === 'sqlite' ? SQLITE : words.includes(name) ? name : `${name}://`,
  )
}
