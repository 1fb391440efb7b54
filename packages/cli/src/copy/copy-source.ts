/**
 * The store to copy from: an engine, or the folder of an embedded store, which a server may have open. On a folder, one snapshot
 * is held at a time, and the file grows by what is written meanwhile; the snapshot is renewed whenever changes are copied.
 */
import { openEmbeddedSnapshot, type StoreState } from '@freshet/engines/lmdb'
import { isEngine } from '../config/store-kind.js'
import { openNamedStore } from '../places/open-store.js'

/** Throws STORE_UNUSABLE if there is no store in the folder: none is created. */
export function openSource(name: string, onWarning: (warning: string) => void): Promise<StoreState> {
  return isEngine(name) ? openNamedStore(name, onWarning) : openEmbeddedSnapshot(name)
}
