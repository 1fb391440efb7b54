/**
 * The position from which a store continues when it is opened, by the time of day.
 *
 * A new store may take the place of an old one: its folder was deleted, its engine emptied, or a backup restored. Caches may
 * still have copies of the old data, under plain URLs and under `?at=` its positions, and sessions hold positions of the old
 * store. If the new store counted from 0, all of these would be taken for its own. So it continues from a position that no
 * earlier store can have reached: the hundred-thousandths of a second since 2026 began. An earlier store would have had to make
 * 100,000 commits a second all its life to be beyond that. A reader then recognises every older copy by its position, which
 * is before the window (`session.ts`).
 *
 * This relies on a clock that is not set back by longer than the store was away. A position has 13 digits now, and will have
 * 15 until the year 2342, as many as URLs may have.
 */
import type { Position } from '@freshet/protocol'

/** 2026-01-01T00:00:00Z. */
const BEGINNING_MS = 1_767_225_600_000
const POSITIONS_PER_MS = 100

/** Every store opened at this time of day, in milliseconds since 1970, continues from this position or a later one. */
export function positionAtTime(timeOfDayMs: number): Position {
  return Math.max(0, Math.floor((timeOfDayMs - BEGINNING_MS) * POSITIONS_PER_MS))
}
