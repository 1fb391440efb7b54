/**
 * What is copied from: an engine, or the folder of an embedded store, which a server may have open. Of a folder one state is held at a
 * time, so its file grows by what is written meanwhile; it is renewed whenever what has changed is taken over.
 */
import type { StoreSupports } from '@freshet/core/store'
import { openEmbeddedSnapshot, type StoreState } from '@freshet/stores/embedded'
import { isEngine } from '../config/store-kind.js'
import { openNamedStore } from '../serve/open-store.js'

export interface CopySource extends StoreState {
  /** A folder's has all. */
  readonly supports?: Pick<StoreSupports, 'queries'>
  /** From now on it is the state of this moment. No read may be under way. */
  renew?(): void
}

/** Throws STORE_UNUSABLE if there is no store in the folder: nothing is made. */
export function openSource(name: string, onWarning: (warning: string) => void): Promise<CopySource> {
  return isEngine(name) ? openNamedStore(name, onWarning) : openEmbeddedSnapshot(name)
}

export function hasIndexes({ supports }: CopySource): boolean {
  return supports?.queries ?? true
}
