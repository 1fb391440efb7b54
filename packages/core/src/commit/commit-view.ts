/** The state that a commit would follow, by which it is decided. All of it is at hand; nothing is waited for. */
import type { OperationTables, RetentionOptions } from '../counters/index.js'
import type { ChangedKeys, Key, Position, StoredValue, Version } from '../store/index.js'
import type { IndexView } from './decide-indexes.js'

export type Content = Omit<StoredValue, 'version'>

export interface CommitView
  extends ChangedKeys,
    IndexView,
    RetentionOptions,
    Pick<OperationTables, 'window' | 'foreign'> {
  /** The position of the last commit. */
  readonly position: Position
  /** The store's clock: the time that the commit will have. */
  readonly timeMs: number
  /** 0 if the key is absent. */
  versionOf(key: Key): Version
}
