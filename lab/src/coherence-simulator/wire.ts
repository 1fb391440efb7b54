/** The messages in the simulated network. Fields marked as truth are for the checker; no reader or cache looks at them. */
import type { Path, Position, SegmentRef, Version } from '@freshet/protocol'

export type Target =
  | { readonly kind: 'object'; readonly path: Path; readonly at: Position | undefined }
  | { readonly kind: 'head'; readonly after: Position | undefined; readonly at: Position; readonly nonce: string }
  | { readonly kind: 'segments'; readonly refs: readonly SegmentRef[] }

export interface Request {
  readonly target: Target
  /** The key of a cached copy. */
  readonly url: string
  /** The client asks caches to pass the request on. Some do. */
  readonly isReload: boolean
}

export interface Reply {
  /** The lifetime that the origin sets; with `isNoStore`, the lifetime that a cache uses if it ignores that. */
  readonly lifetimeMs: number
  readonly isNoStore: boolean
  /** The Age header, in whole seconds as milliseconds. */
  readonly ageMs: number
  /** The Date header: the origin's wall clock. */
  readonly dateMs: number
  readonly content: Content
  /** Truth: when it was read from the store, and which server read it. */
  readonly readMs: number
  readonly servedBy: string
}

export type Content =
  | {
      readonly kind: 'object'
      readonly version: Version | undefined
      /** Undefined once a cache has removed the header. */
      readonly position: Position | undefined
      /** Truth: the position of the change that produced this; 0 without a change. */
      readonly changedAt: Position
    }
  /** `text`: a head or news, as servers send them. */
  | { readonly kind: 'head'; readonly text: string }
  | { readonly kind: 'segments'; readonly filters: readonly Uint8Array[] }

/** Undefined: no answer came, or the answer was a refusal. */
export type Done = (reply: Reply | undefined) => void

export interface Upstream {
  fetch(request: Request, done: Done): void
  /** A write passes on its way to the server. */
  passWrite(path: Path): void
}

export function objectRequest(path: Path, at: Position | undefined, isReload: boolean): Request {
  return { target: { kind: 'object', path, at }, url: at === undefined ? path : `${path}?at=${at}`, isReload }
}
