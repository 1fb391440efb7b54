/** The JSON that travels between client and server. Every field is documented here and in /openapi.json. */
import type { Position, Version } from './positions.js'

/** `GET /coherence?after=P`: what changed, as far as the reader does not know it. */
export interface CoherenceHead {
  /** The id of the change log. When it differs from the one known, everything known is void. */
  readonly log: string
  /** The head reflects every commit up to this position, and so every one acknowledged before it was asked for. */
  readonly position: Position
  /** Where the window begins: who knows everything after this needs nothing older. */
  readonly from: Position
  /** No cache serves a copy that was read from the store longer ago than this. */
  readonly windowMs: number
  /** The server's clock when it answered, as `/time` has it. */
  readonly timeMs: number
  /** 16 hex digits: the seed of every filter and hash in the sketch. */
  readonly seed: string
  /** Closed segments, oldest first, contiguous; only those that end after `after`. They never change. */
  readonly segments: readonly SegmentRef[]
  /** What the last closed segment does not hold. */
  readonly tail: Tail
}

export interface SegmentRef {
  /** Covers the changes with from < position <= to. */
  readonly from: Position
  readonly to: Position
}

/** Few changes are listed one by one; many are a filter. `from` may be later than the last segment's end: see `after`. */
export type Tail =
  | { readonly from: Position; readonly to: Position; readonly changes: readonly ChangeHash[] }
  | { readonly from: Position; readonly to: Position; readonly filter: string }

/** A position, and the hash of a path that changed there: 16 hex digits, the second word of the hash first. */
export type ChangeHash = readonly [position: Position, hash: string]

/** One `changes` event of `GET /coherence/events`; its id is `to`. */
export interface ChangesEvent {
  readonly from: Position
  readonly to: Position
  readonly timeMs: number
  readonly changes: readonly ChangeHash[]
}

/** `GET /time` */
export interface ServerTime {
  /** Milliseconds of a clock that only goes forward and belongs to this log; not the time of day. */
  readonly timeMs: number
}

/** `PUT /db/{ns}/{bucket}` and `GET` of it with `?settings`. */
export interface BucketSettings {
  readonly kind: 'object' | 'kv'
  /** How long caches may keep its objects. */
  readonly lifetimeMs?: number
  /** Writes must say which version they replace (If-Match, or If-None-Match: *), else 428. */
  readonly requireMatch?: boolean
}

/** `GET /db` */
export interface NamespaceList {
  readonly namespaces: readonly string[]
}

/** `GET /db/{ns}` */
export interface BucketList {
  readonly buckets: readonly (BucketSettings & { readonly bucket: string })[]
}

/** `GET /db/{ns}/{bucket}` */
export interface ListPage<Value = unknown> {
  readonly items: readonly ListItem<Value>[]
  /** Pass it as `after` for the next page; absent on the last. */
  readonly next?: string
}

export interface ListItem<Value = unknown> {
  readonly id: string
  readonly version: Version
  /** With `embed` only. JSON for object buckets; `{ contentType, base64 }` for kv buckets. */
  readonly value?: Value
}

/** `POST /commit`: everything or nothing. */
export interface CommitRequest {
  /** Versions that must still hold; 0 for "not there". Keys are paths. */
  readonly reads?: readonly { readonly path: string; readonly version: Version }[]
  readonly writes: readonly CommitWrite[]
}

export type CommitWrite =
  | { readonly path: string; readonly value: unknown }
  | { readonly path: string; readonly contentType: string; readonly base64: string }
  | { readonly path: string; readonly delete: true }

export interface CommitAnswer {
  /** Also the version of everything it wrote. */
  readonly position: Position
}

/** What a PUT, POST, PATCH or DELETE of one object answers. */
export interface WriteAnswer {
  readonly id: string
  readonly version: Version
  readonly position: Position
}
