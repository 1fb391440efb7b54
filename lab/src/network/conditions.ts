/**
 * What a line between two places is like. The same in both directions.
 *
 * Loss is as TCP lets it be seen: nothing is missing in the end, but what was lost, and with it all that comes after it on
 * the same connection, is late by the time that it takes to notice and send it again. Connections do not wait for each
 * other, so that one overtakes another: through jitter and loss the order between connections is lost, within one it is
 * kept, as TCP does.
 */
export interface Conditions {
  /** One way. */
  readonly delayMs: number
  /** Up to so much is added to the delay, evenly spread, for each chunk anew. */
  readonly jitterMs: number
  /** In each direction, shared by all connections. Infinity for a line that is never full. */
  readonly bytesPerSecond: number
  /** Of the packets, from 0 to 1. */
  readonly lossRate: number
  /** Of the new connections: those that are reset at once. */
  readonly refuseRate: number
  /** Of the chunks: those at which the connection is reset, in both directions. */
  readonly resetRate: number
  /** Of the chunks: those from which on nothing gets through any more, and nobody is told. */
  readonly blackHoleRate: number
}

export const CONDITIONS_IDEAL: Conditions = {
  delayMs: 0,
  jitterMs: 0,
  bytesPerSecond: Number.POSITIVE_INFINITY,
  lossRate: 0,
  refuseRate: 0,
  resetRate: 0,
  blackHoleRate: 0,
}

const RATES = ['lossRate', 'refuseRate', 'resetRate', 'blackHoleRate'] as const
const DURATIONS = ['delayMs', 'jitterMs'] as const

/** What is not said stays as it was. Throws a TypeError that says what is wrong. */
export function changeConditions(before: Conditions, change: Partial<Conditions>): Conditions {
  const conditions = { ...before, ...change }
  for (const name of Object.keys(conditions)) {
    if (!(name in CONDITIONS_IDEAL)) throw new TypeError(`A line has no ${name}.`)
  }
  for (const name of DURATIONS)
    check(name, conditions[name], value => value >= 0 && Number.isFinite(value), '0 or more')
  for (const name of RATES) check(name, conditions[name], value => value >= 0 && value <= 1, 'from 0 to 1')
  check('bytesPerSecond', conditions.bytesPerSecond, value => value > 0, 'more than 0')
  return conditions
}

function check(name: string, value: number, isRight: (value: number) => boolean, expected: string): void {
  if (typeof value !== 'number' || !isRight(value)) throw new TypeError(`${name} must be ${expected}, not ${value}.`)
}

/** As measured on most paths; a chunk of this size or less is lost as a whole or not at all. */
const PACKET_BYTES = 1460

/** The chance that at least one of the packets of so many bytes is lost. */
export function lossOf(bytes: number, { lossRate }: Conditions): number {
  return lossRate === 0 ? 0 : 1 - (1 - lossRate) ** Math.ceil(bytes / PACKET_BYTES)
}

/** There and back: what it takes until a loss is noticed. */
export function roundTripMs({ delayMs, jitterMs }: Conditions): number {
  return 2 * delayMs + jitterMs
}
