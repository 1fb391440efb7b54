/** A broken promise, with all the evidence. */

import type { KnownWrite } from './known-writes.js'
import type { ReadRecord } from './record.js'
import type { Floor } from './session-floors.js'

/**
 * current: something is missing that was acknowledged longer than the promised time before the read began. position:
 * something is missing that the session's position includes. monotonic: the session, or one that it continues, had seen
 * a later state. own write: the session had written a later one, and the server had acknowledged it.
 */
export const PROMISES = ['current', 'position', 'monotonic', 'own write'] as const
export type Promised = (typeof PROMISES)[number]

export interface Violation {
  readonly promised: Promised
  readonly read: ReadRecord
  readonly log: string
  readonly clock: string
  /** The latest write that should have been seen, if it was recorded. */
  readonly missed: KnownWrite | undefined
  /** How long before the read began it had been acknowledged, at least and at most; undefined if not known. */
  readonly acknowledgedMsBefore: { readonly least: number; readonly most: number } | undefined
  /** What the session had seen or written itself. */
  readonly floor: Floor | undefined
}

/** As text for people. */
export function formatViolation(violation: Violation): string {
  const { promised, read } = violation
  const clock = clockName(violation.clock)
  const { path, v, pos, by = 'unknown', within, sp } = read
  return [
    `${promised} broken: session ${read.s} read ${path}${within === undefined ? '' : `, promised within ${within} ms`}`,
    `  began at ${seconds(read.b)}, ended at ${seconds(read.e)} (clock ${clock})${sp === undefined ? '' : `, session at position ${sp}`}`,
    `  got ${v === 0 ? `nothing there, as of position ${pos}` : `version ${v} of position ${pos}`}, served from: ${by}`,
    ...missedLines(violation),
    ...floorLines(violation),
  ].join('\n')
}

function missedLines({ missed, acknowledgedMsBefore: before }: Violation): string[] {
  if (missed === undefined) return []
  const acks = missed.acknowledged.map(
    ({ session, ended }) => `to ${session} at ${seconds(ended.us)} (clock ${clockName(ended.clock)})`,
  )
  return [
    `  missed the ${missed.isDelete ? 'deletion' : 'write'} at position ${missed.position}, acknowledged ${acks.join(' and ')}`,
    ...(before === undefined ? [] : [`  that was ${age(before)} before the read began`]),
  ]
}

function floorLines({ floor, read, promised }: Violation): string[] {
  if (floor === undefined) return []
  const did = promised === 'own write' ? 'wrote' : floor.isAbsent ? 'saw that there was nothing as of' : 'saw'
  const who = floor.session === read.s ? 'it' : `session ${floor.session}, which it continues,`
  return [`  but ${who} ${did} ${floor.position} at ${seconds(floor.endedUs)}`]
}

function age({ least, most }: { readonly least: number; readonly most: number }): string {
  if (!Number.isFinite(most)) return `${least.toFixed(1)} ms or more`
  return most - least < 0.001 ? `${least.toFixed(1)} ms` : `${least.toFixed(1)} to ${most.toFixed(1)} ms`
}

/** A clock's key also has the log of the server that it was compared with. */
function clockName(clock: string): string {
  return clock.split(' ')[0]!
}

function seconds(us: number): string {
  return `${(us / 1e6).toFixed(6)} s`
}
