/** What can go wrong with a connection or a transaction, for callers that may retry. */
import type { FreshetError } from '@freshet/protocol'

/** The connection is gone. */
export class EngineLost extends Error {
  override readonly name = 'EngineLost'
  /** Whether the request may have been carried out. */
  readonly isUnknown: boolean

  constructor(cause: unknown, isUnknown: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.isUnknown = isUnknown
  }
}

/** One commit of a transaction cannot be made; the others can, without it. */
export class CommitRefused extends Error {
  override readonly name = 'CommitRefused'
  readonly reason: FreshetError

  constructor(reason: FreshetError) {
    super(reason.message, { cause: reason })
    this.reason = reason
  }
}

/** Refused in favour of another transaction; nothing was done. */
export class EngineBusy extends Error {
  override readonly name = 'EngineBusy'

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}
