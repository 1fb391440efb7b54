/**
 * The session, and beside it what its owner knows from all that has come back so far: where the window begins, which
 * copies in memory must not be older than; and the latest position that any answer has shown. A head that is behind a
 * position seen before it was asked for is of a store that has gone back.
 */
import type { Bloom } from '@freshet/bloom'
import {
  type Answer,
  type Hanging,
  type ReaderHead,
  type ReadMode,
  Session,
  type SessionOptions,
} from '@freshet/core/coherence'
import { bucketOfKey, keyOfPath, type Path, type Position, pathOfKey } from '@freshet/protocol'

export class TrackedSession {
  readonly core: Session
  readonly #onAnotherLog: () => void
  #log: string | undefined
  #windowFrom: Position = 0
  #reached: Position = 0

  /** `onAnotherLog`: the server has another store now, and nothing that was known of the old one counts. */
  constructor(options: SessionOptions, onAnotherLog: () => void) {
    this.core = new Session(options)
    this.#onAnotherLog = onAnotherLog
  }

  /** Changes after this position are known, those before it are not. */
  get windowFrom(): Position {
    return this.#windowFrom
  }

  /** No head that is asked for from now on can be behind this. */
  get reached(): Position {
    return this.#reached
  }

  /** The position to ask for so that the answer is new enough for each of these paths. */
  at(paths: readonly Path[], mode: ReadMode): Position | undefined {
    let latest: Position | undefined
    for (const path of paths) {
      const at = this.core.at(path, mode)
      if (at !== undefined && (latest === undefined || at > latest)) latest = at
    }
    return latest
  }

  /** Whether an answer to a read of `path` at `at` will do; takes note of it if so. */
  accepts(path: Path, at: Position | undefined, mode: ReadMode, answer: Answer): boolean {
    const { position } = answer
    if (!this.core.accepts(path, at, answer, mode)) return false
    this.#showToLists(path, answer.version ?? position ?? 0)
    this.saw(position ?? answer.version ?? 0)
    return true
  }

  /** The same for one answer about several objects. */
  acceptsAll(paths: readonly Path[], at: Position | undefined, mode: ReadMode, { position }: Answer): boolean {
    if (!this.core.acceptsAll(paths, at, position, mode)) return false
    this.saw(position ?? 0)
    return true
  }

  /** The same for the result of a query. */
  acceptsResult(hanging: Hanging, at: Position | undefined, mode: ReadMode, answer: Answer): boolean {
    if (!this.core.acceptsResult(hanging, at, answer, mode)) return false
    this.saw(answer.position ?? answer.version ?? 0)
    return true
  }

  /** What a read of an object has shown, no later list of its bucket may deny. */
  #showToLists(path: Path, shown: Position): void {
    if (shown <= this.core.position) return
    const key = keyOfPath(path)
    this.core.wrote(pathOfKey(bucketOfKey(key)), shown)
  }

  wrote(paths: readonly Path[], position: Position): void {
    for (const path of paths) this.core.wrote(path, position)
    this.saw(position)
  }

  saw(position: Position): void {
    if (position > this.#reached) this.#reached = position
  }

  isOutdated(head: ReaderHead, reachedWhenAsked: Position): boolean {
    return head.log === this.#log && head.position < reachedWhenAsked
  }

  installHead(head: ReaderHead, after: Position | undefined, filters: readonly Bloom[], askedAtMs: number): void {
    this.core.installHead(head, after, filters, askedAtMs)
    if (this.#log !== head.log) this.#startOver(head.log)
    this.#windowFrom = Math.max(this.#windowFrom, head.from)
    this.saw(head.position)
  }

  #startOver(log: string): void {
    const isFirst = this.#log === undefined
    this.#log = log
    if (isFirst) return
    this.#windowFrom = 0
    this.#reached = 0
    this.#onAnotherLog()
  }
}
