/** Where objects come from or go to: a running server, the folder of an embedded store, or the address of an engine. */

import { configInvalid } from '../config/config-invalid.js'
import { EMBEDDED, isEngine, noStore, STORE } from '../config/store-kind.js'
import type { Environment } from '../config/value-kinds.js'
import { flagsOrVariables } from '../config/variables.js'
import { serverAddress } from '../terminal/flag-values.js'

export type Place = { readonly url: string } | StorePlace

/** A folder, or the address of an engine. */
export interface StorePlace {
  readonly store: string
}

/** The flags that take a value and name a store or a place. */
export const STORE_FLAGS: readonly string[] = ['store', 'data']
export const PLACE_FLAGS: readonly string[] = ['url', ...STORE_FLAGS]

/** The flags of a command line, and the variables around it. */
export interface PlaceSources {
  readonly given: ReadonlyMap<string, string>
  readonly environment: Environment
}

/** Throws CONFIG_INVALID unless it is one of `--url`, `--store` and `--data`, or the store that the variables name. */
export function readPlace(command: string, sources: PlaceSources): Place {
  const url = sources.given.get('url')
  if (url === undefined) return readStorePlace(command, sources, '--url http://localhost:7700, ')
  if (namesStore(sources.given)) throw noPlace(command, '--url http://localhost:7700, ')
  return { url: serverAddress('--url', url) }
}

/**
 * The store that `freshet serve` would use: `--store` and `--data`, or, without either, FRESHET_STORE and FRESHET_DATA, or the
 * files that FRESHET_STORE_FILE and FRESHET_DATA_FILE name. Throws CONFIG_INVALID.
 */
export function readStorePlace(command: string, { given, environment }: PlaceSources, more = ''): StorePlace {
  const sources = { given, environment: namesStore(given) ? {} : environment }
  const store = readStore(sources) ?? EMBEDDED
  const { data } = flagsOrVariables(given, sources.environment, ['data'])
  if (isEngine(store) && !given.has('data')) return { store }
  if (store !== EMBEDDED || data === undefined) throw noPlace(command, more)
  return { store: data }
}

/**
 * The value of `--store`, of the variable or of the file; undefined if none is given. Throws CONFIG_INVALID if it does not name a
 * store.
 */
export function readStore({ given, environment }: PlaceSources): string | undefined {
  const { store } = flagsOrVariables(given, environment, ['store'])
  if (store === undefined || STORE.parse(store) !== undefined) return store
  const place = given.has('store') ? '--store' : 'FRESHET_STORE'
  throw configInvalid(`${place}: ${noStore(store, EMBEDDED)}`)
}

export function namesStore(given: ReadonlyMap<string, string>): boolean {
  return given.has('store') || given.has('data')
}

function noPlace(command: string, more: string): Error {
  return configInvalid(
    `freshet ${command} takes one of ${more}--data .freshet (the folder of an embedded store) or --store postgres://user@host/database. ` +
      'To keep a password off the command line, set FRESHET_STORE, or FRESHET_STORE_FILE to the name of a file.',
  )
}
