/**
 * Those members of an object that rules look at. They are parsed when a rule first asks, and kept with the object while it is at hand, if they are
 * few and short: what is kept of an object is bounded, whatever is in it.
 */
import type { StoredValue } from '@freshet/core/store'

export type Value = Pick<StoredValue, 'contentType' | 'body'>

/** Characters, and so many for each value besides. */
const KEPT_SIZE_MAX = 256
const VALUE_SIZE = 16

export class ObjectMembers {
  readonly #value: Value
  #names: readonly string[] | undefined
  #kept: unknown

  constructor(value: Value) {
    this.#value = value
  }

  /** The object with these members at least. What is kept is known by the array of names, so ask with the same one again. */
  with(names: readonly string[]): unknown {
    if (this.#names === names) return this.#kept
    const object = parseValue(this.#value)
    const members = pick(object, names)
    if (members === undefined || sizeOf(members) > KEPT_SIZE_MAX) return object
    this.#names = names
    this.#kept = members
    return members
  }
}

/** Bytes have no fields. */
export function parseValue({ contentType, body }: Value): unknown {
  if (!/^application\/json\b/.test(contentType)) return undefined
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString())
  } catch {
    return undefined
  }
}

/** Undefined of what is not an object with members. */
function pick(object: unknown, names: readonly string[]): object | undefined {
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return undefined
  const own = names.filter(name => Object.hasOwn(object, name))
  // As JSON.parse does, it makes a member of __proto__, too.
  return Object.fromEntries(own.map(name => [name, (object as Record<string, unknown>)[name]]))
}

/** Of what hangs in others it looks at no more than is kept. */
function sizeOf(value: unknown, sizeMax = KEPT_SIZE_MAX): number {
  if (typeof value === 'string') return VALUE_SIZE + value.length
  if (typeof value !== 'object' || value === null) return VALUE_SIZE
  let size = VALUE_SIZE
  for (const [name, member] of Object.entries(value)) {
    if (size > sizeMax) return size
    size += name.length + sizeOf(member, sizeMax - size)
  }
  return size
}
