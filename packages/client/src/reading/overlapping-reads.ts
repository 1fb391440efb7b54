/**
 * Overlapping reads of one path may end in another order than they began. No read that ends later may contradict what an earlier
 * one has shown the session; but the session itself is only asked when a read begins. So this records, for paths that are being
 * read, what has been shown meanwhile.
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

  /**
   * Records that a read has shown the path in a state that includes this position; no later list of its bucket may contradict it.
   */
  show(path: Path, position: Position): void {
    if (this.#overlaps.size === 0) return
    for (const shown of [path, path.slice(0, path.lastIndexOf('/'))]) {
      const overlap = this.#overlaps.get(shown)
      if (overlap && overlap.shown < position) overlap.shown = position
    }
  }

  /** The latest position that was shown while the path was being read; 0 if none. */
  shown(path: Path): Position {
    return this.#overlaps.get(path)?.shown ?? 0
  }
}
