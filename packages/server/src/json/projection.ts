/** `fields=name,author.name`: an object with nothing but these. What it does not have is left out. */
type Fields = Record<string, unknown>

export function project(value: object, fields: readonly string[]): object {
  const projected = empty()
  // A field comes before what is within it: then it is taken as a whole.
  for (const field of [...fields].sort()) copy(value as Fields, projected, field.split('.'))
  return projected
}

function copy(from: Fields, to: Fields, [name = '', ...rest]: readonly string[]): void {
  if (!Object.hasOwn(from, name)) return
  const value = from[name]
  if (rest.length === 0) {
    to[name] = value
    return
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) || to[name] === value) return
  to[name] ??= empty()
  copy(value as Fields, to[name] as Fields, rest)
}

/** Without a prototype, so that no name means anything to it. */
function empty(): Fields {
  return Object.create(null) as Fields
}
