/**
 * The members of an object that rules look at. They are parsed when a rule first needs them, and kept with the object while it
 * is at hand, if they are few and short: what is kept of an object is bounded, whatever its contents.
 */
import type { StoredValue } from '@freshet/core/store'

export type Value = Pick<StoredValue, 'contentType' | 'body'>

/** In characters, plus `VALUE_SIZE` for each value. */
const KEPT_SIZE_MAX = 256
const VALUE_SIZE = 16

export class ObjectMembers {
  readonly #value: Value
  #names: readonly string[] | undefined
  #kept: unknown

  constructor(value: Value) {
    this.#value = value
  }

  /**
   * The object with at least these members. The kept result is found by the identity of the array of names, so pass the same
   * array again.
   */
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

/** Undefined if the content is not JSON, since bytes have no fields. */
export function parseValue({ contentType, body }: Value): unknown {
  if (!/^application\/json\b/.test(contentType)) return undefined
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString())
  } catch {
    return undefined
  }
}

/** Undefined if the value is not an object with members. */
function pick(object: unknown, names: readonly string[]): object | undefined {
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return undefined
  const own = names.filter(name => Object.hasOwn(object, name))
  // Like JSON.parse, this makes __proto__ an ordinary member.
  return Object.fromEntries(own.map(name => [name, (object as Record<string, unknown>)[name]]))
}

/** Stops counting as soon as the value is too large to be kept. */
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
