/** `fields=name,author.name`: an object with only these fields. Fields that the object does not have are left out. */
type Fields = Record<string, unknown>

export function project(value: object, fields: readonly string[]): object {
  const projected = empty()
  // A field sorts before those inside it, so it is taken as a whole.
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

/** Without a prototype, so that no name has a special meaning. */
function empty(): Fields {
  return Object.create(null) as Fields
}
