/** A write: what is sent, what it changes, and how it is done. */
import type { Path, Version } from '@freshet/protocol'
import type { Request } from '../http/transport.js'
import type { Operation } from '../operations/operation-ids.js'

/** How one write is done. It takes effect once, however often it had to be sent. */
export interface WriteOptions {
  /** Only if this is the version there is; 'absent': only if there is none. Else VERSION_CONFLICT. */
  readonly ifVersion?: Version | 'absent'
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

export interface Write {
  /** Read anew each time it is sent. */
  readonly request: Request
  /** What it changes, including the paths of buckets, whose lists it changes. */
  readonly paths: readonly Path[]
  /** Those of them that it deletes. */
  readonly deleted?: readonly Path[]
  /** What it creates or adds to, where that is known by the answer: the server makes up the id, or does part of it. */
  readonly createdPath?: (id: string) => Path
  /** Those that the request has the keys of already. Unless given, it is one itself. */
  readonly operations?: readonly Operation[]
  /** Of what is no operation: whether doing it twice is doing it once. */
  readonly isIdempotent?: boolean
  /** Throws what is in an answer that is none yet. */
  readonly check?: (answer: unknown) => void
}
