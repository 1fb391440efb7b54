/**
 * Which numbers of a JSON text a double holds exactly: those that it prints again with the same value, and whole numbers up to
 * 2^53. Any other number would be rounded by a program that computes with it; where that matters it is refused.
 */

/** Strings, so that their contents are skipped, and numbers. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** The first number in a JSON text that would be rounded; undefined if every number is exact. */
export function inexactNumber(json: string): string | undefined {
  for (const [token] of json.matchAll(TOKEN)) if (!token.startsWith('"') && !isExactNumber(token)) return token
  return undefined
}

export function isExactNumber(text: string): boolean {
  if (/^-?\d{1,15}$/.test(text)) return true
  const value = Number(text)
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) return false
  return plain(text) === plain(String(value))
}

/** The same for all spellings of a value. */
function plain(text: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  if (digits === '') return '0'
  const short = digits.replace(/0+$/, '')
  return `${sign}${short}e${Number(exponent) - fraction.length + digits.length - short.length}`
}
