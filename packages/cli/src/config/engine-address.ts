/** Addresses of engines, and guesses for addresses that are not an engine's. */
import { didYouMean } from './nearest-name.js'

const SCHEMES = ['postgres', 'postgresql', 'mariadb', 'mysql', 'redis', 'rediss', 'cassandra'] as const
/** A file follows, not a host. */
const SQLITE = 'sqlite:'

/** The address of one engine; a ring has several. */
export function isEngineAddress(text: string): boolean {
  return SCHEMES.some(scheme => text.startsWith(`${scheme}://`)) || sqlitePath(text) !== undefined
}

/** The file of `sqlite:./shop.db`; undefined for any other address. */
export function sqlitePath(text: string): string | undefined {
  const path = text.slice(SQLITE.length)
  const isHost = /^\/\/[^/]/.test(path)
  return text.startsWith(SQLITE) && path !== '' && !isHost ? path : undefined
}

/** Looks like an address, but not of an engine. Taken for a folder, it could have a password in its name. */
export function isUnknownAddress(text: string): boolean {
  return text.includes('://') && !isEngineAddress(text)
}

/**
 * The end of a sentence, or nothing. `words` are other names to guess. The text after the scheme may be a password: it is
 * ignored.
 */
export function guessAddress(text: string, words: readonly string[] = []): string {
  const [scheme = ''] = text.split(':')
  return didYouMean(scheme, [...SCHEMES, 'sqlite', ...words], name =>
    name === 'sqlite' ? SQLITE : words.includes(name) ? name : `${name}://`,
  )
}
