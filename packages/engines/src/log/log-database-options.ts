/** What a `LogDatabase` is over, and how it reads and waits. */
import type { LogPlace } from '@freshet/core/store'
import type { Identity } from './identity.js'
import type { LogState } from './log-record.js'
import type { ChangeLog, Rows } from './log-storage.js'

export interface LogDatabaseOptions {
  readonly place: string
  readonly changeLog: ChangeLog
  readonly rows: Rows
  readonly waitMsMax: number
  readonly recordBytesMax: number
  /** Objects are read from one copy first. */
  readonly readsNearest?: boolean
  readonly nowMs: () => number
  /** A record was met, of this server or another. */
  readonly onRecord: (state: LogState) => void
  /** Where an earlier process knew the log to be. If that is gone, another log begins. */
  readonly recalled?: LogPlace | undefined
  readonly identity?: Identity
}
