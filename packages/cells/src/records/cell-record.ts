/**
 * What a node keeps of a key: its cell, and the node's vote on who may give timestamps for it. A node is an engine that decides
 * nothing: whoever wants a change reads the record, makes the next one by a function of this file, and has the engine replace it
 * if it is still the one that was read. So a record goes through these functions and nothing else, one after the other.
 *
 * This is `../guard.ts` for guards without a mind and a clock of their own, and as there:
 * - a tenure is granted once, to one holder, and only if it is higher than all before;
 * - while its last holder may still answer it is granted to nobody else. The guard cannot time its promise, so the claimant does:
 *   it must have seen the same beat for as long as the promise lasts. The holder counts from before it sent the beat, the
 *   claimant from after it has read it, so the holder stops first. A holder that has resigned need not be waited for;
 * - what is written under a tenure is refused where a later one was granted.
 *
 * Here the guards of a key are its replicas, so a cell and the vote on it change in one step, and a write needs no second round
 * to be recorded: it is committed when a majority of the replicas has it (as in CASPaxos, Rystsov 2018).
 */
import { compareStamps, NO_STAMP, type Stamp } from './stamp.js'

export interface CellValue {
  readonly contentType: string
  readonly body: Uint8Array
}

/** No value: a tombstone, or, with NO_STAMP, nothing yet. */
export interface Cell {
  readonly stamp: Stamp
  readonly value: CellValue | undefined
}

export interface CellRecord extends Cell {
  /** The highest that was granted here. */
  readonly tenure: number
  /** Who it was granted to: NOBODY if it has resigned; DISPUTED if records of different holders were merged. */
  readonly holder: string
  /** Changes whenever the holder shows that it is there. */
  readonly beat: number
  /** Who would like to be the holder, and could not ask it. */
  readonly wish: string
}

export const NOBODY = ''
export const DISPUTED = '?'

export const EMPTY_RECORD: CellRecord = {
  ...{ stamp: NO_STAMP, value: undefined },
  ...{ tenure: 0, holder: NOBODY, beat: 0, wish: NOBODY },
}

export interface Holding {
  readonly tenure: number
  readonly holder: string
}

/** The tenure and beat that a claimant saw as long ago as a promise lasts, or longer. */
export type SeenBeat = Pick<CellRecord, 'tenure' | 'beat'>

/** Undefined if it must not be granted, or not yet. */
export function claimed(record: CellRecord, { tenure, holder }: Holding, seen?: SeenBeat): CellRecord | undefined {
  const isSilent = seen !== undefined && seen.tenure === record.tenure && seen.beat === record.beat
  const isFree = record.holder === NOBODY || record.holder === holder || isSilent
  if (tenure <= record.tenure || !isFree) return undefined
  return { ...record, tenure, holder, beat: record.beat + 1, wish: NOBODY }
}

/** The holder goes on. Only who was granted the tenure by a majority may ask for it. Undefined if there is a later one. */
export function renewed(record: CellRecord, { tenure, holder }: Holding): CellRecord | undefined {
  if (record.tenure > tenure) return undefined
  return { ...record, tenure, holder, beat: record.beat + 1 }
}

/** The holder has stopped, or a claim came to nothing. */
export function released(record: CellRecord, { tenure, holder }: Holding): CellRecord | undefined {
  if (record.tenure !== tenure || record.holder !== holder) return undefined
  return { ...record, holder: NOBODY, beat: record.beat + 1, wish: NOBODY }
}

export function wished(record: CellRecord, wish: string): CellRecord | undefined {
  return record.wish === NOBODY && record.holder !== NOBODY ? { ...record, wish } : undefined
}

/**
 * A cell that the holder writes, or makes sure of. Undefined if a later tenure was granted: then it must not be. What has a later
 * cell under no later tenure has been written over already, and keeps it.
 */
export function written(record: CellRecord, { stamp, value }: Cell, holding: Holding): CellRecord | undefined {
  const next = renewed(record, holding)
  if (next === undefined || compareStamps(record.stamp, stamp) >= 0) return next
  return { ...next, stamp, value }
}

/** A cell that comes from elsewhere: of a hint, of another replica, of a writer that asked no majority. */
export function copied(record: CellRecord, { stamp, value }: Cell): CellRecord | undefined {
  return compareStamps(stamp, record.stamp) > 0 ? { ...record, stamp, value } : undefined
}

/**
 * What a new replica gets: the latest cell, and the highest tenure. That may have been granted by a minority alone, while the
 * promise to another holder runs: so where holders differ nobody has the key, and everybody waits.
 */
export function merged(a: CellRecord, b: CellRecord): CellRecord {
  const { stamp, value } = compareStamps(a.stamp, b.stamp) >= 0 ? a : b
  const [higher, lower] = a.tenure >= b.tenure ? [a, b] : [b, a]
  const isDisputed = lower.holder !== higher.holder && lower.holder !== NOBODY
  return { ...higher, stamp, value, holder: isDisputed ? DISPUTED : higher.holder, beat: Math.max(a.beat, b.beat) }
}
