/**
 * The messages between the writing process and a reading process: ordered, without loss while the channel lasts, and able to
 * carry bytes. A pair of message ports in one process will do, and so will the channel that Node opens between a process and
 * its child, if both use a serialization that carries more than JSON:
 *
 *     cluster.setupPrimary({ serialization: 'advanced' })
 */
import type { Commit, CommitResult, OperationCounts, Position, StoreSupports } from '@freshet/core/store'
import { FreshetError, type FreshetErrorCode } from '@freshet/protocol'
import type { ClockBase } from '@freshet/store/clock'

export interface Channel<In, Out> {
  /** Throws, or does nothing, if the other end is gone. */
  send(message: Out): void
  onMessage(listener: (message: In) => void): void
  /** Calls the listener once, when the other end is gone. */
  onClose?(listener: () => void): void
}

/** The requests of a reader to the writer. Questions of one turn are sent together, and so are the answers. */
export type ToWriter =
  | { readonly kind: 'attach'; readonly bytes: Uint8Array }
  | { readonly kind: 'ask'; readonly questions: readonly (readonly [id: number, question: Question])[] }
  | { readonly kind: 'detach' }

export type Question =
  /** The reader has checked the commit. */
  | { readonly commit: Commit }
  | { readonly trim: Position }
  | { readonly forgetOperations: true }
  | { readonly countOperations: true }
  | { readonly hold: string; readonly holder: string; readonly ms: number }
  | { readonly remember: string; readonly value: Uint8Array }

export type FromWriter =
  | Attached
  | { readonly kind: 'durable'; readonly position: Position }
  | { readonly kind: 'answers'; readonly answers: readonly (readonly [id: number, answer: Answer])[] }
  | { readonly kind: 'failed'; readonly error: ErrorMessage }

export interface Attached {
  readonly kind: 'attached'
  readonly position: Position
  readonly clock: ClockBase
  readonly supports: StoreSupports
}

/** The result of a commit, the counts of operations, whether a name is held, or nothing. */
export type Answered = CommitResult | OperationCounts | boolean | undefined

export type Answer = { readonly result: Answered } | { readonly error: ErrorMessage }

export interface ErrorMessage {
  readonly code: FreshetErrorCode | undefined
  readonly message: string
}

export type WriterChannel = Channel<ToWriter, FromWriter>
export type ReaderChannel = Channel<FromWriter, ToWriter>

export function toErrorMessage(error: unknown): ErrorMessage {
  const { message } = error as Error
  return { code: error instanceof FreshetError ? error.code : undefined, message }
}

export function fromErrorMessage({ code, message }: ErrorMessage): Error {
  return code === undefined ? new TypeError(message) : new FreshetError(code, message)
}

/** `process` in a child; a `ChildProcess` or a cluster's `Worker` in its parent. */
export interface IpcEndpoint {
  send?(message: unknown, done: (error: Error | null) => void): unknown
  on(event: 'message', listener: (message: unknown) => void): unknown
  once(event: 'disconnect', listener: () => void): unknown
}

/** The channel between a process and its child. Other messages may travel on it as well. */
export function ipcChannel<In, Out>(endpoint: IpcEndpoint): Channel<In, Out> {
  return {
    send(message) {
      // Without a callback, the error of sending to a killed child would bring its parent down. `onClose` reports the child's
      // end.
      endpoint.send?.({ [TAG]: message }, () => {})
    },
    onMessage(listener) {
      endpoint.on('message', message => {
        if (typeof message === 'object' && message !== null && TAG in message) listener(message[TAG] as In)
      })
    },
    onClose(listener) {
      endpoint.once('disconnect', listener)
    },
  }
}

const TAG = 'freshetStore'
