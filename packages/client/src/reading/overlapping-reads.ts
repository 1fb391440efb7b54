/**
 * Reads of one path that overlap may end in another order than they began. What one of them has shown the session, none
 * that ends later may contradict; but the session itself only speaks when a read begins. So here is noted, for paths
 * that are being read, what has been shown meanwhile.
 */
import type { Path, Position } from '@freshet/protocol'

interface Overlap {
  reads: number
  shown: Position
}

export class OverlappingReads {
  readonly #overlaps = new Map<Path, Overlap>()

  begin(path: Path): void {
    const overlap = this.#overlaps.get(path)
    if (overlap) overlap.reads++
    else this.#overlaps.set(path, { reads: 1, shown: 0 })
  }

  end(path: Path): void {
    const overlap = this.#overlaps.get(path)
    if (overlap && --overlap.reads === 0) this.#overlaps.delete(path)
  }

  /** Somebody was shown the path in a state that includes this position; no later list of its bucket may deny it. */
  show(path: Path, position: Position): void {
    if (this.#overlaps.size === 0) return
    for (const shown of [path, path.slice(0, path.lastIndexOf('/'))]) {
      const overlap = this.#overlaps.get(shown)
      if (overlap && overlap.shown < position) overlap.shown = position
    }
  }

  /** The latest position that anybody was shown while the path was being read; 0 if none. */
  shown(path: Path): Position {
    return this.#overlaps.get(path)?.shown ?? 0
  }
}
