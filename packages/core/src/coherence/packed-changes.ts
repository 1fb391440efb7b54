/**
 * The changes of (from, to], one by one, in as few characters as possible. `from` is known to the reader. In the digits of
 * `digits.ts`:
 *
 *     +-----------+-------+--------+--------+-----+
 *     | to - from | count | change | change | ... |      the first two: numbers of any size
 *     +-----------+-------+--------+--------+-----+
 *
 *     +-----------------------+-----------+
 *     | 4 digits, 24 bits     | step - 15 |              the second: a number of any size, only if the step is 15 or more
 *     | step: 4, hash: 20     |           |
 *     +-----------------------+-----------+
 *
 * Changes are in the order of the log; a step leads from the position of the last one, or from `from`, to this one's. A
 * path that changed several times is listed once, where it changed last. The count is there so that a reader detects a list
 * that was cut short: it would hide changes.
 */
import type { PackedChanges, Position } from '@freshet/protocol'
import { CHANGE_HASH_BITS } from './change-hash.js'
import { DigitReader, formatFixed, formatNumber } from './digits.js'
import { sketchInvalid } from './sketch-invalid.js'

export interface ListedChange {
  readonly position: Position
  /** See `change-hash.ts`. */
  readonly hash: number
}

const HASHES = 2 ** CHANGE_HASH_BITS
const STEP_MAX = 15
const CHANGE_DIGITS = 4

/** The last change of each path. The changes must be in order, and stay so. */
export function lastOfEach(changes: readonly ListedChange[]): readonly ListedChange[] {
  const last = new Map(changes.map(change => [change.hash, change]))
  return changes.filter(change => last.get(change.hash) === change)
}

/** The changes must be in order, and in (from, to]. */
export function packChanges(from: Position, to: Position, changes: readonly ListedChange[]): PackedChanges {
  let text = formatNumber(to - from) + formatNumber(changes.length)
  let reached = from
  for (const { position, hash } of changes) {
    const step = position - reached
    text += formatFixed(Math.min(step, STEP_MAX) * HASHES + hash, CHANGE_DIGITS)
    if (step >= STEP_MAX) text += formatNumber(step - STEP_MAX)
    reached = position
  }
  return text
}

/** Throws ANSWER_INVALID. */
export function unpackChanges(
  from: Position,
  packed: PackedChanges,
): { readonly to: Position; readonly changes: readonly ListedChange[] } {
  const reader = new DigitReader(packed)
  const to = from + reader.number()
  const count = reader.number()
  // Check before memory is allocated for them.
  if (count * CHANGE_DIGITS > packed.length) throw sketchInvalid('it is cut short')
  let position = from
  const changes = Array.from({ length: count }, () => {
    const digits = reader.fixed(CHANGE_DIGITS)
    const step = Math.floor(digits / HASHES)
    position += step < STEP_MAX ? step : step + reader.number()
    return { position, hash: digits % HASHES }
  })
  if (!Number.isSafeInteger(to) || position > to) throw sketchInvalid(`it has changes after its end, ${to}`)
  if (reader.rest !== '') throw sketchInvalid('it continues after its last change')
  return { to, changes }
}
