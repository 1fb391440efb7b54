/**
 * What a read of an object returns: the stored fields as they are, and what is known about it beside them, as properties
 * that do not count among its own: `{ ...p }`, `JSON.stringify(p)`, `Object.keys(p)` have the data alone, so writing back
 * what was read writes no `version` into it.
 *
 * A stored field of the same name wins: data is never hidden or changed. `versionOf(p)` has the version in any case.
 */
import type { Version } from '@freshet/protocol'
import type { Served } from '../reading/served.js'

/** What is known about a stored value besides itself. */
export interface Facts {
  readonly id: string
  readonly version: Version
  /** Where it came from. */
  readonly served: Served
}

/**
 * An object as it was read: its fields, and beside them `id`, `version` and `served`, which do not count among its own, so that what was read can be
 * written back. A field of the same name wins: then `idOf` and `versionOf` tell.
 */
export type Stored<T> = T &
  (string extends keyof T ? Facts : { readonly [Name in Exclude<keyof Facts, keyof T>]: Facts[Name] })

/** Of values with a field of their own that is called like one of the facts. */
const hidden = new WeakMap<object, Facts>()

export function attachFacts<T extends object>(value: T, facts: Facts): Stored<T> {
  for (const name of ['id', 'version', 'served'] as const) {
    if (Object.hasOwn(value, name)) hidden.set(value, facts)
    else Object.defineProperty(value, name, { value: facts[name], configurable: true })
  }
  return value as Stored<T>
}

/** What is known of a value that facts were attached to. */
export function factsOf(stored: object): Facts {
  return hidden.get(stored) ?? (stored as Facts)
}

/** The version of what a read returned, also if it has a field of that name. */
export function versionOf(stored: object): Version {
  const version = hidden.get(stored)?.version ?? (stored as Partial<Facts>).version
  if (version !== undefined) return version
  throw new TypeError('versionOf takes what a read returned, and not a copy of it.')
}

/** Its id, also if it has a field of that name. */
export function idOf(stored: object): string {
  const id = hidden.get(stored)?.id ?? (stored as Partial<Facts>).id
  if (id !== undefined) return id
  throw new TypeError('idOf takes what a read returned, and not a copy of it.')
}
