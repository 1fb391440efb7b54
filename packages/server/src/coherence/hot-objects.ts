/**
 * Recently read objects, ready to be sent. Reading an object from a store on disk takes a few microseconds, and so does making
 * its headers. A read that finds it here needs neither.
 *
 * Invariant: the objects here are those of the store, as of the log follower's position. The follower removes what a commit
 * changed before it moves on to that commit's position, and an awaited value is added only if the follower has not seen a
 * change of it in between. Every read first brings the follower up to the store's position, so no answer is older than the
 * store's own answer would be.
 */
import type { LogEntry, StoredValue } from '@freshet/core/store'
import { formatEtag, type Key, type Position, type Version } from '@freshet/protocol'
import { ObjectMembers } from '../access/rules/object-members.js'
import { JSON_TYPE, NO_SNIFF } from '../http/answer.js'
import { isCompressible } from '../http/content-coding.js'
import { confinement } from '../http/content-types.js'

export interface HotObject {
  readonly version: Version
  readonly contentType: string
  readonly body: Uint8Array
  readonly etag: string
  /** Whether the answer depends on Accept-Encoding. */
  readonly isVarying: boolean
  /** The body, one character for each byte, so that headers and body are sent in one write; undefined if it is long. */
  readonly text: string | undefined
  /** The headers that depend only on the object, without ETag and length. */
  readonly headers: readonly string[]
  /** The members that access rules look at. */
  readonly members: ObjectMembers
  /** Made when the object is read, since they contain the position. */
  ready: ReadyHeads | undefined
  /** The same for answers under `?at=`, whose lifetime may differ. */
  readyAt: ReadyHeads | undefined
}

/** The heads of answers at this position, under this revision of the bucket directory. */
export interface ReadyHeads {
  readonly position: Position
  readonly revision: number
  /** Whether they say that no cache may keep the answer. That is the same for all callers under the same rules. */
  readonly isPrivate: boolean
  /** By the clock of the process; infinity if the lifetime in them does not change with time. */
  readonly goodUntilMs: number
  /** Of a 200, uncompressed. */
  readonly ok: string
  /** Of a 304. */
  readonly unchanged: string
}

/** Bodies up to this size are put into one string with the headers, and so into one packet. */
const ONE_WRITE_BYTES_MAX = 16_384
/** The approximate size of an entry besides its body. */
const OVERHEAD_BYTES = 2000

export function toHotObject({ version, contentType, body }: StoredValue, compressBytesMin: number): HotObject {
  const isVarying = body.length >= compressBytesMin && isCompressible(contentType)
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return {
    version,
    contentType,
    body,
    isVarying,
    etag: formatEtag(version),
    text: body.length <= ONE_WRITE_BYTES_MAX ? bytes.toString('latin1') : undefined,
    headers: [
      ...['Content-Type', contentType, ...NO_SNIFF],
      ...(contentType === JSON_TYPE ? [] : confinement(contentType)),
      ...(isVarying ? ['Vary', 'Accept-Encoding'] : []),
    ],
    members: new ObjectMembers({ contentType, body }),
    ready: undefined,
    readyAt: undefined,
  }
}

/** A read whose value is awaited. */
export interface Awaited {
  readonly key: Key
  /** How many reads of this key are under way. */
  reads: number
  /** False once a commit has changed the object. */
  isGood: boolean
}

/** Two generations: entries that are not read while the younger generation fills up are dropped with the older one. */
export class HotObjects {
  readonly #generationBytesMax: number
  #young = new Map<Key, HotObject>()
  #old = new Map<Key, HotObject>()
  #youngBytes = 0
  readonly #awaited = new Map<Key, Awaited>()

  constructor(bytesMax: number) {
    this.#generationBytesMax = bytesMax / 2
  }

  get(key: Key): HotObject | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.put(key, old)
    return old
  }

  put(key: Key, object: HotObject): void {
    const bytes = object.body.length + (object.text?.length ?? 0) + OVERHEAD_BYTES
    if (bytes > this.#generationBytesMax / 8) return
    if (this.#youngBytes + bytes > this.#generationBytesMax) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngBytes = 0
    }
    this.#young.set(key, object)
    this.#youngBytes += bytes
  }

  /** Call before a read of a store that answers later. */
  await(key: Key): Awaited {
    let awaited = this.#awaited.get(key)
    if (awaited === undefined) {
      awaited = { key, reads: 0, isGood: true }
      this.#awaited.set(key, awaited)
    }
    awaited.reads++
    return awaited
  }

  /** Call when the store has answered. */
  fill(awaited: Awaited, object: HotObject | undefined): void {
    const { key } = awaited
    if (--awaited.reads === 0 && this.#awaited.get(key) === awaited) this.#awaited.delete(key)
    if (awaited.isGood && object !== undefined) this.put(key, object)
  }

  /** Drops what these commits changed. */
  follow(entries: readonly LogEntry[]): void {
    if (this.#young.size + this.#old.size + this.#awaited.size === 0) return
    for (const { keys } of entries) {
      for (const key of keys) {
        this.#young.delete(key)
        this.#old.delete(key)
        this.#spoil(this.#awaited.get(key))
      }
    }
  }

  #spoil(awaited: Awaited | undefined): void {
    if (awaited === undefined) return
    awaited.isGood = false
    // Later reads of the key get the new value.
    this.#awaited.delete(awaited.key)
  }

  clear(): void {
    for (const awaited of [...this.#awaited.values()]) this.#spoil(awaited)
    this.#young.clear()
    this.#old.clear()
    this.#youngBytes = 0
  }
}
