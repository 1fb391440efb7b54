/**
 * JSON whose numbers keep their digits: 12345678901234567890 stays what it is. A number that JavaScript would spell otherwise becomes what
 * JSON.rawJSON makes of its text, which JSON.stringify writes back as it came. Browsers that have no JSON.rawJSON would round such numbers;
 * in those it is refused instead.
 */

/** Newer than the types of the language's library. */
interface Json {
  rawJSON?(text: string): unknown
  parse(text: string, revive: (name: string, value: unknown, context: { readonly source: string }) => unknown): unknown
}

const { rawJSON, parse }: Json = JSON as unknown as Json

/** Throws a SyntaxError, or says which number this browser would round. */
export function parseExact(text: string): unknown {
  if (rawJSON === undefined) return parseUnrounded(text)
  const keep = (value: unknown, source: string) => (String(value) === source ? value : rawJSON(source))
  return parse(text, (_name, value, context) => (typeof value === 'number' ? keep(value, context.source) : value))
}

/** Strings are matched so that numbers in them are not. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g
/** So many are always kept. */
const DIGITS_KEPT = 15

/** Without JSON.rawJSON. */
export function parseUnrounded(text: string): unknown {
  const value: unknown = JSON.parse(text)
  const rounded = text.match(STRING_OR_NUMBER)?.find(each => !each.startsWith('"') && isRounded(each))
  if (rounded === undefined) return value
  throw new Error(`This browser would round ${rounded}, so it cannot be edited in it. Use a newer one.`)
}

function isRounded(number: string): boolean {
  const [mantissa = ''] = number.split(/e/i)
  const digits = mantissa.replaceAll(/[-.]/g, '').replace(/^0+/, '')
  const value = Number(number)
  return digits.length > DIGITS_KEPT || !Number.isFinite(value) || (value === 0 && digits !== '')
}
