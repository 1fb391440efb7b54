/**
 * The changes since a reader's last request, in as few characters as possible, in the digits of `digits.ts`. A head that
 * lists everything its reader does not know becomes
 *
 *     +------------------+-------+----------------+--------+---------+
 *     | proof: 8 digits, | after | after - where  | timeMs | changes |
 *     | 48 bits          |       | the window     |        |         |      numbers of any size, and at the end what
 *     |                  |       | begins         |        |         |      `packed-changes.ts` draws, from `after` on
 *     +------------------+-------+----------------+--------+---------+
 *
 * The proof is the hash of the request's nonce under the sketch's seed. The seed stands for the log, from which servers
 * derive it. So a reader that finds another proof than expected has news of another log, or the answer to another request,
 * which a cache has kept: it asks for a whole head, which names both.
 *
 * On a stream, each event continues where the one before ended, and has only what was added:
 *
 *     +------------------+---------+
 *     | askedMs: how     | changes |                                         a number of any size, in units of 8 ms; and as
 *     | much later it is |         |                                         above, from the `to` of the event before
 *     +------------------+---------+
 */
import { hashUnder } from '@freshet/bloom'
import type { ChangesEvent, Position } from '@freshet/protocol'
import { parseSeed } from './change-hash.js'
import { DigitReader, formatFixed, formatNumber } from './digits.js'
import { unpackChanges } from './packed-changes.js'
import type { ReaderHead } from './sketch-view.js'

/** The times of events are multiples of it: one digit is enough, as long as they are a quarter of a second apart. */
export const EVENT_TIME_MS = 8

const PROOF_DIGITS = 8

/** Undefined for a head that is not the news of a reader that knows everything up to `after`. */
export function formatNews(head: ReaderHead, after: Position | undefined, nonce: string): string | undefined {
  const { position, from, timeMs, seed, segments, tail } = head
  if (after === undefined || segments.length > 0 || !('changes' in tail)) return undefined
  if (tail.from !== after || tail.to !== position) return undefined
  const numbers = [after, after - from, timeMs].map(formatNumber)
  return formatFixed(proofOf(nonce, seed), PROOF_DIGITS) + numbers.join('') + tail.changes
}

/**
 * For a reader that knows a sketch of this log and seed, and asked with this nonce; undefined if the news are of another
 * sketch, or the answer to another request. Throws ANSWER_INVALID.
 */
export function parseNews(
  news: string,
  { log, seed }: Pick<ReaderHead, 'log' | 'seed'>,
  nonce: string,
): ReaderHead | undefined {
  const reader = new DigitReader(news)
  if (reader.fixed(PROOF_DIGITS) !== proofOf(nonce, seed)) return undefined
  const after = reader.number()
  const from = after - reader.number()
  const timeMs = reader.number()
  const changes = reader.rest
  const { to } = unpackChanges(after, changes)
  return { log, seed, position: to, from, timeMs, segments: [], tail: { from: after, to, changes } }
}

/** `before` is the `askedMs` of the event before it on the stream. Both must be multiples of EVENT_TIME_MS. */
export function formatEvent({ askedMs, changes }: ChangesEvent, before: number): string {
  return formatNumber((askedMs - before) / EVENT_TIME_MS) + changes
}

/** Throws ANSWER_INVALID. */
export function parseEvent(text: string, before: Pick<ChangesEvent, 'to' | 'askedMs'>): ChangesEvent {
  const reader = new DigitReader(text)
  const askedMs = before.askedMs + reader.number() * EVENT_TIME_MS
  const changes = reader.rest
  const { to } = unpackChanges(before.to, changes)
  return { from: before.to, to, askedMs, changes }
}

function proofOf(nonce: string, seed: string): number {
  const { low, high } = hashUnder(parseSeed(seed) ?? 0n)(nonce)
  return (high & 0xffff) * 2 ** 32 + (low >>> 0)
}
