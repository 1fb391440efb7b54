/** Recent conflicts: writes and commits that were refused because something had changed, and what that was. */
import type { Key, Version } from '@freshet/protocol'
import { Recent } from './recent.js'

export interface Conflict {
  /** write: of one object, by If-Match or If-None-Match. commit: of several, or of a transaction. */
  readonly kind: 'write' | 'commit'
  /**
   * The versions that the write depended on and that had changed. Version 0: absent. `expected` is missing for lists, and if
   * any of several versions would have been accepted.
   */
  readonly changed: readonly { readonly key: Key; readonly expected?: Version; readonly version: Version }[]
  /** The keys that would have been written. */
  readonly writes: readonly Key[]
  /** The refusal granted a lease. */
  readonly isLeased: boolean
}

const CONFLICTS_MAX = 500
/** How many keys of each kind are remembered for each conflict. */
const KEYS_MAX = 20

export class RecentConflicts {
  readonly conflicts: Recent<Conflict> = new Recent(CONFLICTS_MAX)

  add({ changed, writes, ...conflict }: Conflict): void {
    const some = { changed: changed.slice(0, KEYS_MAX), writes: writes.slice(0, KEYS_MAX) }
    this.conflicts.add({ ...conflict, ...some })
  }
}
