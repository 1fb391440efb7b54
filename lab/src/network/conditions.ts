/**
 * The conditions of a link between two places. They are the same in both directions.
 *
 * Loss appears as TCP shows it: nothing is missing at the end, but a lost packet, and everything after it on the same connection,
 * is late by the time that it takes to notice the loss and resend. Connections do not wait for each other, so one can overtake
 * another: jitter and loss change the order between connections, and keep it within one, as TCP does.
 */
export interface Conditions {
  /** One-way delay. */
  readonly delayMs: number
  /** The largest random addition to the delay, uniformly distributed, drawn for each chunk. */
  readonly jitterMs: number
  /** In each direction, shared by all connections. Infinity for a link that is never full. */
  readonly bytesPerSecond: number
  /** The share of lost packets, from 0 to 1. */
  readonly lossRate: number
  /** The share of new connections that are reset at once. */
  readonly refuseRate: number
  /** The share of chunks at which the connection is reset, in both directions. */
  readonly resetRate: number
  /** The share of chunks after which nothing gets through, and neither end is notified. */
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

/** Omitted conditions stay unchanged. Throws a TypeError that says what is wrong. */
export function changeConditions(before: Conditions, change: Partial<Conditions>): Conditions {
  const conditions = { ...before, ...change }
  for (const name of Object.keys(conditions)) {
    if (!(name in CONDITIONS_IDEAL)) throw new TypeError(`A link has no condition ${name}.`)
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

/** As measured on most paths; a chunk of at most this size is lost as a whole or not at all. */
const PACKET_BYTES = 1460

/** The chance that at least one packet of a chunk of `bytes` bytes is lost. */
export function lossOf(bytes: number, { lossRate }: Conditions): number {
  return lossRate === 0 ? 0 : 1 - (1 - lossRate) ** Math.ceil(bytes / PACKET_BYTES)
}

/** The round trip: the time until a loss is noticed. */
export function roundTripMs({ delayMs, jitterMs }: Conditions): number {
  return 2 * delayMs + jitterMs
}
