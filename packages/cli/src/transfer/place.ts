/** Where objects come from or go to: a server that runs, the folder of an embedded store, or the address of an engine. */
import { FreshetError } from '@freshet/protocol'
import { openEmbeddedSnapshot, type StoreState } from '@freshet/stores/embedded'
import { serverAddress } from '../command/read-flags.js'
import { EMBEDDED, isEngine, noStore, STORE } from '../config/store-kind.js'
import type { Environment } from '../config/value-kinds.js'
import { flagsOrVariables } from '../config/variables.js'
import { openNamedStore } from '../serve/open-store.js'

export type Place = { readonly url: string } | StorePlace

/** A folder, or the address of an engine. */
export interface StorePlace {
  readonly store: string
}

export const PLACE_FLAGS = { url: { type: 'string' }, store: { type: 'string' }, data: { type: 'string' } } as const
export const STORE_FLAGS = { store: { type: 'string' }, data: { type: 'string' } } as const

/** Of a command line, and of the variables around it. */
export interface PlaceSources {
  readonly given: ReadonlyMap<string, string>
  readonly environment: Environment
}

/** Throws CONFIG_INVALID unless it is one of `--url`, `--store` and `--data`, or the store that the variables name. */
export function readPlace(command: string, sources: PlaceSources): Place {
  const url = sources.given.get('url')
  if (url === undefined) return readStorePlace(command, sources, '--url http://localhost:7700, ')
  if (namesStore(sources.given)) throw invalid(command, '--url http://localhost:7700, ')
  return { url: serverAddress(command, url) }
}

/**
 * As `freshet serve` has it: `--store` and `--data`, or, without either, FRESHET_STORE and FRESHET_DATA, or the files that FRESHET_STORE_FILE
 * and FRESHET_DATA_FILE name. Throws CONFIG_INVALID.
 */
export function readStorePlace(command: string, { given, environment }: PlaceSources, more = ''): StorePlace {
  const sources = { given, environment: namesStore(given) ? {} : environment }
  const store = readStore(sources) ?? EMBEDDED
  const { data } = flagsOrVariables(given, sources.environment, ['data'])
  if (isEngine(store) && !given.has('data')) return { store }
  if (store !== EMBEDDED || data === undefined) throw invalid(command, more)
  return { store: data }
}

/** `--store`, or the variable, or the file; undefined if there is none. Throws CONFIG_INVALID if it is no store's. */
export function readStore({ given, environment }: PlaceSources): string | undefined {
  const { store } = flagsOrVariables(given, environment, ['store'])
  if (store === undefined || STORE.parse(store) !== undefined) return store
  const place = given.has('store') ? '--store' : 'FRESHET_STORE'
  throw new FreshetError('CONFIG_INVALID', `${place}: ${noStore(store, EMBEDDED)}`)
}

export function namesStore(given: ReadonlyMap<string, string>): boolean {
  return given.has('store') || given.has('data')
}

function invalid(command: string, more: string): FreshetError {
  return new FreshetError(
    'CONFIG_INVALID',
    `freshet ${command} takes one of ${more}--data .freshet (the folder of an embedded store) and --store postgres://user@host/database. ` +
      'FRESHET_STORE, or a file that FRESHET_STORE_FILE names, keeps a password off the command line.',
  )
}

/** To be read: of a folder, one state, while a server may be writing to it. */
export function openState({ store }: StorePlace): Promise<StoreState> {
  return isEngine(store) ? openNamedStore(store, warning => console.error(warning)) : openEmbeddedSnapshot(store)
}
