/**
 * What is new to a reader who was here a moment ago, in as few characters as will do; in the digits of `digits.ts`. A
 * head that lists all that its reader does not know becomes
 *
 *     +------------------+-------+----------------+--------+---------+
 *     | seed: 8 digits,  | after | after - where  | timeMs | changes |
 *     | its last 48 bits |       | the window     |        |         |      numbers of any size, and at the end what
 *     |                  |       | begins         |        |         |      `packed-changes.ts` draws, from `after` on
 *     +------------------+-------+----------------+--------+---------+
 *
 * The seed stands for the log, from which servers derive it: who finds another there than he knows asks for a whole head.
 *
 * On a stream, each event goes on where the one before ended, and has only what was added:
 *
 *     +------------------+---------+
 *     | timeMs: how much | changes |                                         a number of any size, in units of 8 ms; and as
 *     | later it is      |         |                                         above, from the `to` of the event before
 *     +------------------+---------+
 */
import type { ChangesEvent, Position } from '@freshet/protocol'
import { DigitReader, formatFixed, formatNumber } from './digits.js'
import { unpackChanges } from './packed-changes.js'
import type { ReaderHead } from './sketch-view.js'

/** The times of events are multiples of it: one digit is enough, as long as they are a quarter of a second apart. */
export const EVENT_TIME_MS = 8

const SEED_DIGITS = 8
/** Four bits each. */
const SEED_HEX_DIGITS = 12

/** Undefined for a head that is not the news of who knows everything up to `after`. */
export function formatNews(head: ReaderHead, after: Position | undefined): string | undefined {
  const { position, from, timeMs, seed, segments, tail } = head
  if (after === undefined || segments.length > 0 || !('changes' in tail)) return undefined
  if (tail.from !== after || tail.to !== position) return undefined
  const numbers = [after, after - from, timeMs].map(formatNumber)
  return formatFixed(seedBits(seed), SEED_DIGITS) + numbers.join('') + tail.changes
}

/** For who knows a sketch of this log and seed; undefined if the news are of another. Throws ANSWER_INVALID. */
export function parseNews(news: string, { log, seed }: Pick<ReaderHead, 'log' | 'seed'>): ReaderHead | undefined {
  const reader = new DigitReader(news)
  if (reader.fixed(SEED_DIGITS) !== seedBits(seed)) return undefined
  const after = reader.number()
  const from = after - reader.number()
  const timeMs = reader.number()
  const changes = reader.rest
  const { to } = unpackChanges(after, changes)
  return { log, seed, position: to, from, timeMs, segments: [], tail: { from: after, to, changes } }
}

/** `before` is the time of the event before it on the stream. Both must be multiples of EVENT_TIME_MS. */
export function formatEvent({ timeMs, changes }: ChangesEvent, before: number): string {
  return formatNumber((timeMs - before) / EVENT_TIME_MS) + changes
}

/** Throws ANSWER_INVALID. */
export function parseEvent(text: string, before: Pick<ChangesEvent, 'to' | 'timeMs'>): ChangesEvent {
  const reader = new DigitReader(text)
  const timeMs = before.timeMs + reader.number() * EVENT_TIME_MS
  const changes = reader.rest
  const { to } = unpackChanges(before.to, changes)
  return { from: before.to, to, timeMs, changes }
}

function seedBits(seed: string): number {
  return Number.parseInt(seed.slice(-SEED_HEX_DIGITS), 16)
}
