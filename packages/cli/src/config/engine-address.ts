/** Addresses of engines, and what somebody meant whose address is of none. */
import { didYouMean } from './nearest-name.js'

const SCHEMES = ['postgres', 'postgresql', 'mariadb', 'mysql', 'redis', 'rediss', 'cassandra'] as const

/** Of one; a ring has several. */
export function isEngineAddress(text: string): boolean {
  return SCHEMES.some(scheme => text.startsWith(`${scheme}://`))
}

/** It has the form of an address, and no engine's: as a folder it would have a password in its name. */
export function isUnknownAddress(text: string): boolean {
  return text.includes('://') && !isEngineAddress(text)
}

/** As the end of a sentence, or nothing. `words` may stand in its place. What is behind the scheme may be a password, and is not looked at. */
export function guessAddress(text: string, words: readonly string[] = []): string {
  const [scheme = ''] = text.split(':')
  return didYouMean(scheme, [...SCHEMES, ...words], name => (words.includes(name) ? name : `${name}://`))
}
