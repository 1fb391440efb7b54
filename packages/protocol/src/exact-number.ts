/**
 * Which numbers of a JSON text a double holds exactly: those that it prints again with the same value, and whole numbers up to 2^53. Others
 * would be rounded by whatever computes with them; where that matters they are refused.
 */

/** Texts, so that what is in them is passed over, and numbers. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** The first number in a JSON text that would be rounded; undefined if there is none. */
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
