/** What was read in the last seconds, and so may well be read again: the latest few hundred. */
import type { Path, Position } from '@freshet/protocol'
import type { ReadRequest } from './read-request.js'

interface Recent {
  readonly request: ReadRequest
  readonly readAtMs: number
}

interface ChangedRead {
  readonly request: ReadRequest
  readonly at: Position
}

const COUNT_MAX = 500
const AGE_MS_MAX = 30_000
/** More at once would keep reads waiting. */
const CHANGED_MAX = 20

export class RecentReads {
  /** The latest last. */
  readonly #reads = new Map<string, Recent>()

  note(request: ReadRequest, readAtMs: number): void {
    this.#reads.delete(request.name)
    this.#reads.set(request.name, { request, readAtMs })
    if (this.#reads.size <= COUNT_MAX) return
    for (const oldest of this.#reads.keys()) {
      this.#reads.delete(oldest)
      break
    }
  }

  /** Those that something in them has changed of, the latest first, with the position of the last change. */
  changed(changedAt: (path: Path) => Position | undefined, nowMs: number): readonly ChangedRead[] {
    const found: ChangedRead[] = []
    for (const { request, readAtMs } of [...this.#reads.values()].reverse()) {
      if (nowMs - readAtMs > AGE_MS_MAX || found.length >= CHANGED_MAX) break
      const at = Math.max(...request.sketchPaths.map(path => changedAt(path) ?? 0))
      if (at > 0) found.push({ request, at })
    }
    return found
  }
}
