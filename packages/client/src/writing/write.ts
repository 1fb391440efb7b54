/** A write: its request, what it changes, and its options. */
import type { Path, Version } from '@freshet/protocol'
import type { Request } from '../http/transport.js'
import type { Operation } from '../operations/operation-ids.js'

/** The options of one write. A write takes effect once, however often it has to be sent. */
export interface WriteOptions {
  /** Write only if the object has this version; 'absent': only if it does not exist. Otherwise VERSION_CONFLICT is thrown. */
  readonly ifVersion?: Version | 'absent'
  /** Gives the write up when it is aborted; it may have been done by then (`details.outcome` of the error). */
  readonly signal?: AbortSignal
  /** The time limit of the whole operation in milliseconds, including retries. Default: the option of `connect`, or 10,000. */
  readonly timeoutMs?: number
}

export interface Write {
  /** Read again each time it is sent. */
  readonly request: Request
  /** The paths it changes, including those of buckets, whose lists it changes. */
  readonly paths: readonly Path[]
  /** The paths among them that it deletes. */
  readonly deleted?: readonly Path[]
  /**
   * The path that it creates or adds to, if only the answer names it: the server generates the id, or does only some additions.
   */
  readonly createdPath?: (id: string) => Path
  /** The operations whose keys the request already has. By default the write is one operation itself. */
  readonly operations?: readonly Operation[]
  /** For a write that is not an operation: whether repeating it does no harm. */
  readonly isIdempotent?: boolean
  /** Throws an error that the answer contains, after which the write is sent again. */
  readonly check?: (answer: unknown) => void
}
