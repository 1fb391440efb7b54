/** Where objects come from or go to: a server that runs, the folder of an embedded store, or the address of an engine. */
import { FreshetError } from '@freshet/protocol'
import { openEmbeddedSnapshot, type StoreState } from '@freshet/stores/embedded'
import { serverAddress } from '../command/read-flags.js'
import { isEngine } from '../config/store-kind.js'
import { openNamedStore } from '../serve/open-store.js'

export type Place = { readonly url: string } | StorePlace

/** A folder, or the address of an engine. */
export interface StorePlace {
  readonly store: string
}

export const PLACE_FLAGS = { url: { type: 'string' }, store: { type: 'string' }, data: { type: 'string' } } as const
export const STORE_FLAGS = { store: { type: 'string' }, data: { type: 'string' } } as const

/** Throws CONFIG_INVALID unless exactly one of `--url`, `--store` and `--data` is given. */
export function readPlace(command: string, given: ReadonlyMap<string, string>): Place {
  const url = given.get('url')
  if (url === undefined) return readStorePlace(command, given, '--url http://localhost:7700, ')
  if (given.has('store') || given.has('data')) throw invalid(command, '--url http://localhost:7700, ')
  return { url: serverAddress(command, url) }
}

export function readStorePlace(command: string, given: ReadonlyMap<string, string>, more = ''): StorePlace {
  const [store, data] = [given.get('store'), given.get('data')]
  if ((store === undefined) === (data === undefined)) throw invalid(command, more)
  if (store !== undefined && !isEngine(store)) throw invalid(command, more)
  return { store: (store ?? data)! }
}

function invalid(command: string, more: string): FreshetError {
  return new FreshetError(
    'CONFIG_INVALID',
    `freshet ${command} takes one of ${more}--data .freshet (the folder of an embedded store) and --store postgres://user@host/database.`,
  )
}

/** To be read: of a folder, one state, while a server may be writing to it. */
export function openState({ store }: StorePlace): Promise<StoreState> {
  return isEngine(store) ? openNamedStore(store, warning => console.error(warning)) : openEmbeddedSnapshot(store)
}
