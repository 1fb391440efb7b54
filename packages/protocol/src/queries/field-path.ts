/**
 * The names of fields: dotted paths such as `author.name`. Characters with a meaning in sorts (`-` in front, commas) or in tags
 * (`=`) are not allowed in them, so that each has one spelling everywhere.
 */
const FIELD_LENGTH_MAX = 128
const SEGMENT = '[^\\u0000-\\u001f\\u007f.,="]+'
const FIELD = new RegExp(`^(?![$-])${SEGMENT}(?:\\.${SEGMENT})*$`)
const LONE_SURROGATE = /\p{Surrogate}/u

/** Why this cannot name a field; undefined if it can. */
export function objectionToField(field: unknown): string | undefined {
  if (typeof field !== 'string') return 'the name of a field is a string'
  if (field.length > FIELD_LENGTH_MAX) return `a field's name has at most ${FIELD_LENGTH_MAX} characters`
  if (FIELD.test(field) && isWellFormed(field)) return undefined
  return 'a field is a dotted path such as author.name; it does not begin with $ or -, and contains no comma, = or quote'
}

/** Whether UTF-8 can encode it. */
export function isWellFormed(text: string): boolean {
  return !LONE_SURROGATE.test(text)
}
