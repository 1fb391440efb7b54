/**
 * The records of operations, as text:
 *
 *     window    [settledTo, lastMs, [[sequence, fingerprint, position, units, note], ...]]
 *     foreign   [timeMs, fingerprint, position, units, note]
 */
import { type ClientWindow, emptyWindow, type ForeignOperation } from '@freshet/core/counters'
import type { DoneOperation, Position } from '@freshet/core/store'

type DoneParts = readonly [fingerprint: string, position: Position, units: DoneOperation['units'], note: string]

export function spellWindow({ settledTo, lastMs, done }: ClientWindow): string {
  const parts = Array.from(done, ([sequence, operation]) => [sequence, ...partsOf(operation)])
  return JSON.stringify([settledTo, lastMs, parts])
}

export function readWindow(text: string): ClientWindow {
  const [settledTo, lastMs, parts] = JSON.parse(text) as [number, number, [number, ...DoneParts][]]
  const window = { ...emptyWindow(), settledTo, lastMs }
  for (const [sequence, ...done] of parts) window.done.add(sequence, toDone(done))
  return window
}

export function spellForeign(operation: ForeignOperation): string {
  return JSON.stringify([operation.timeMs, ...partsOf(operation)])
}

export function readForeign(text: string): ForeignOperation {
  const [timeMs, ...done] = JSON.parse(text) as [number, ...DoneParts]
  return { timeMs, ...toDone(done) }
}

function partsOf({ fingerprint, position, units, note }: DoneOperation): DoneParts {
  return [fingerprint, position, units, note]
}

function toDone([fingerprint, position, units, note]: DoneParts): DoneOperation {
  return { fingerprint, position, units, note }
}
