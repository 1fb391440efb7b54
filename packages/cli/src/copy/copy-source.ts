/**
 * What is copied from: an engine, or the folder of an embedded store, which a server may have open. Of a folder one state is held at a
 * time, so its file grows by what is written meanwhile; it is renewed whenever what has changed is taken over.
 */
import { openEmbeddedSnapshot, type StoreState } from '@freshet/engines/lmdb'
import { isEngine } from '../config/store-kind.js'
import { openNamedStore } from '../places/open-store.js'

/** Throws STORE_UNUSABLE if there is no store in the folder: nothing is made. */
export function openSource(name: string, onWarning: (warning: string) => void): Promise<StoreState> {
  return isEngine(name) ? openNamedStore(name, onWarning) : openEmbeddedSnapshot(name)
}
