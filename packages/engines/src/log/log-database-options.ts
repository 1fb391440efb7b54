/** What a `LogDatabase` needs, and how it reads and waits. */
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
  /** Called for each new record, of this server or another. */
  readonly onRecord: (state: LogState) => void
  /** The log and position that an earlier process knew. If they are gone, another log begins. */
  readonly recalled?: LogPlace | undefined
  readonly identity?: Identity
}
