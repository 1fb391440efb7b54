/**
 * What a read of an object returns: the stored fields, and the facts about the object beside them, as non-enumerable properties:
 * `{ ...p }`, `JSON.stringify(p)` and `Object.keys(p)` have the data only, so writing back what was read writes no `version`
 * into it.
 *
 * A stored field of the same name wins: data is never hidden or changed. `versionOf(p)` returns the version in any case.
 */
import type { Version } from '@freshet/protocol'
import type { Served } from '../reading/served.js'

/** The facts about a stored value besides the value itself. */
export interface Facts {
  /** The id of the object in its bucket. */
  readonly id: string
  /** Grows with every write of the object. Pass it as `ifVersion` to replace exactly what was read. */
  readonly version: Version
  /** Where it came from. */
  readonly served: Served
}

/**
 * An object as it was read: its fields, and beside them `id`, `version` and `served` as non-enumerable properties, so that the
 * object can be written back. A stored field of the same name wins: then use `idOf` and `versionOf`.
 */
export type Stored<T> = T &
  (string extends keyof T ? Facts : { readonly [Name in Exclude<keyof Facts, keyof T>]: Facts[Name] })

/** The facts of values that have a field with the same name as a fact. */
const hidden = new WeakMap<object, Facts>()

export function attachFacts<T extends object>(value: T, facts: Facts): Stored<T> {
  for (const name of ['id', 'version', 'served'] as const) {
    if (Object.hasOwn(value, name)) hidden.set(value, facts)
    else Object.defineProperty(value, name, { value: facts[name], configurable: true })
  }
  return value as Stored<T>
}

/** The facts that were attached to a value. */
export function factsOf(stored: object): Facts {
  return hidden.get(stored) ?? (stored as Facts)
}

/**
 * The version of what a read returned, even if it has a field of that name.
 *
 * @example
 * import { versionOf } from '@freshet/client'
 *
 * const tea = await db.bucket('shop/products').get('tea')
 * if (tea) await db.bucket('shop/products').put('tea', { ...tea, price: 5 }, { ifVersion: versionOf(tea) })
 */
export function versionOf(stored: object): Version {
  return factOf(stored, 'version')
}

/**
 * The id of what a read returned, even if it has a field of that name.
 *
 * @example
 * import { idOf } from '@freshet/client'
 *
 * const { items } = await db.bucket('shop/products').page()
 * console.log(items.map(idOf)) // [ 'mug', 'tea' ]
 */
export function idOf(stored: object): string {
  return factOf(stored, 'id')
}

function factOf<Name extends 'id' | 'version'>(stored: object, name: Name): Facts[Name] {
  // JavaScript callers may pass what a read of a missing object returned.
  const fact = (factsOf(stored) as Facts | undefined)?.[name]
  if (fact !== undefined) return fact
  throw new TypeError(`${name}Of takes the value that a read returned, not a copy of it: { ...value } has no ${name}.`)
}
