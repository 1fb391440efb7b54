/** Who came too late lately: writes and commits that were refused because something had changed, with what that was. */
import type { Key, Version } from '@freshet/protocol'
import { Recent } from './recent.js'

export interface Conflict {
  /** write: of one object, by If-Match or If-None-Match. commit: of several, or of a transaction. */
  readonly kind: 'write' | 'commit'
  /** What was relied on and no longer held. Version 0: not there. `expected` is absent of lists, and where any of several would have done. */
  readonly changed: readonly { readonly key: Key; readonly expected?: Version; readonly version: Version }[]
  /** What would have been written. */
  readonly writes: readonly Key[]
  /** It was told when it is its turn. */
  readonly isLeased: boolean
}

const CONFLICTS_MAX = 500
/** Of each, so many keys are remembered. */
const KEYS_MAX = 20

export class RecentConflicts {
  readonly conflicts: Recent<Conflict> = new Recent(CONFLICTS_MAX)

  add({ changed, writes, ...conflict }: Conflict): void {
    const some = { changed: changed.slice(0, KEYS_MAX), writes: writes.slice(0, KEYS_MAX) }
    this.conflicts.add({ ...conflict, ...some })
  }
}
