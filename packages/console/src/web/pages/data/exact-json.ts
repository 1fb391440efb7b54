/**
 * JSON whose numbers keep their digits: 12345678901234567890 stays unchanged. A number that JavaScript would print in another way
 * becomes JSON.rawJSON of its text, which JSON.stringify writes back unchanged. Browsers without JSON.rawJSON would round such a
 * number; there it is refused instead.
 */

/** JSON.rawJSON is newer than TypeScript's library types. */
interface Json {
  rawJSON?(text: string): unknown
  parse(text: string, revive: (name: string, value: unknown, context: { readonly source: string }) => unknown): unknown
}

const { rawJSON, parse }: Json = JSON as unknown as Json

/** Throws a SyntaxError, or an error that names the number that this browser would round. */
export function parseExact(text: string): unknown {
  if (rawJSON === undefined) return parseUnrounded(text)
  const keep = (value: unknown, source: string) => (String(value) === source ? value : rawJSON(source))
  return parse(text, (_name, value, context) => (typeof value === 'number' ? keep(value, context.source) : value))
}

/** Matches strings as well, so that numbers inside of them are not matched. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g
/** JavaScript always keeps this many digits. */
const DIGITS_KEPT = 15

/** For browsers without JSON.rawJSON. */
export function parseUnrounded(text: string): unknown {
  const value: unknown = JSON.parse(text)
  const rounded = text.match(STRING_OR_NUMBER)?.find(each => !each.startsWith('"') && isRounded(each))
  if (rounded === undefined) return value
  throw new Error(`This browser would round ${rounded}, so you cannot edit it here. Use a newer browser.`)
}

function isRounded(number: string): boolean {
  const [mantissa = ''] = number.split(/e/i)
  const digits = mantissa.replaceAll(/[-.]/g, '').replace(/^0+/, '')
  const value = Number(number)
  return digits.length > DIGITS_KEPT || !Number.isFinite(value) || (value === 0 && digits !== '')
}
