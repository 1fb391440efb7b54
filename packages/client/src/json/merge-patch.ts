/** JSON merge patches (RFC 7396): applied to an object, and made from two. */
type Json = Readonly<Record<string, unknown>>

/** Applies a patch (section 2). */
export function mergePatch(target: unknown, patch: Json): Json {
  const result = new Map(Object.entries(isJson(target) ? target : {}))
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name)
    else result.set(name, isJson(value) ? mergePatch(result.get(name), value) : value)
  }
  return Object.fromEntries(result)
}

/**
 * The patch from one object to another. It leaves out what is the same, so that is not written: a number with more digits than
 * JavaScript holds stays as it is stored. Undefined: no patch can express the change, since null in a patch removes.
 */
export function mergePatchOf(before: Json, after: Json): Json | undefined {
  const changes: [string, unknown][] = Object.keys(before)
    .filter(name => !Object.hasOwn(after, name))
    .map(name => [name, null])
  for (const [name, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, name) ? before[name] : undefined
    if (JSON.stringify(old) === JSON.stringify(value)) continue
    const change = isJson(old) && isJson(value) ? mergePatchOf(old, value) : value
    if (change === undefined || (change === value && holdsNull(value))) return undefined
    changes.push([name, change])
  }
  return Object.fromEntries(changes)
}

function holdsNull(value: unknown): boolean {
  return value === null || (isJson(value) && Object.values(value).some(holdsNull))
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
