/**
 * What a node keeps of a key: its cell, and the node's vote on who may give timestamps for it. A node is an engine that decides
 * nothing: a coordinator that wants a change reads the record, computes the next one with a function of this file, and has the
 * engine replace the record if it is still the one that was read. So a record is changed only by these functions, one at a time.
 *
 * This is `@freshet/dht, guard.ts` for guards that have no logic and no clock of their own, and as there:
 * - a tenure is granted once, to one holder, and only if it is higher than all before;
 * - while its last holder may still answer, it is granted to no other. The guard cannot time its promise, so the claimant does:
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
  /** The highest tenure that was granted here. */
  readonly tenure: number
  /**
   * The coordinator that it was granted to: NO_COORDINATOR if that has resigned; DISPUTED if records of different holders were merged.
   */
  readonly holder: string
  /** Changes whenever the holder shows that it is there. */
  readonly beat: number
  /** A coordinator that wants to become the holder, and could not ask the holder. */
  readonly wish: string
}

export const NO_COORDINATOR = ''
export const DISPUTED = '?'

export const EMPTY_RECORD: CellRecord = {
  ...{ stamp: NO_STAMP, value: undefined },
  ...{ tenure: 0, holder: NO_COORDINATOR, beat: 0, wish: NO_COORDINATOR },
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
  const isFree = record.holder === NO_COORDINATOR || record.holder === holder || isSilent
  if (tenure <= record.tenure || !isFree) return undefined
  return { ...record, tenure, holder, beat: record.beat + 1, wish: NO_COORDINATOR }
}

/**
 * The holder keeps its tenure; only the holder to which a majority granted it may do so. Undefined if there is a later tenure.
 */
export function renewed(record: CellRecord, { tenure, holder }: Holding): CellRecord | undefined {
  if (record.tenure > tenure) return undefined
  return { ...record, tenure, holder, beat: record.beat + 1 }
}

/** The holder has stopped, or its claim failed. */
export function released(record: CellRecord, { tenure, holder }: Holding): CellRecord | undefined {
  if (record.tenure !== tenure || record.holder !== holder) return undefined
  return { ...record, holder: NO_COORDINATOR, beat: record.beat + 1, wish: NO_COORDINATOR }
}

export function wished(record: CellRecord, wish: string): CellRecord | undefined {
  return record.wish === NO_COORDINATOR && record.holder !== NO_COORDINATOR ? { ...record, wish } : undefined
}

/**
 * A cell that the holder writes, or writes again to commit it. Undefined if a later tenure was granted: the cell must not be
 * written then. A record whose cell is later, under no later tenure, has already overwritten this one, and keeps its cell.
 */
export function written(record: CellRecord, { stamp, value }: Cell, holding: Holding): CellRecord | undefined {
  const next = renewed(record, holding)
  if (next === undefined || compareStamps(record.stamp, stamp) >= 0) return next
  return { ...next, stamp, value }
}

/** A cell that comes from elsewhere: from a hint, another replica, or a writer that asked no majority. */
export function copied(record: CellRecord, { stamp, value }: Cell): CellRecord | undefined {
  return compareStamps(stamp, record.stamp) > 0 ? { ...record, stamp, value } : undefined
}

/**
 * What a new replica gets: the latest cell, and the highest tenure. A minority alone may have granted that tenure, while the
 * promise to another holder runs: so if the holders differ, no coordinator holds the key, and every claimant waits.
 */
export function merged(a: CellRecord, b: CellRecord): CellRecord {
  const { stamp, value } = compareStamps(a.stamp, b.stamp) >= 0 ? a : b
  const [higher, lower] = a.tenure >= b.tenure ? [a, b] : [b, a]
  const isDisputed = lower.holder !== higher.holder && lower.holder !== NO_COORDINATOR
  return { ...higher, stamp, value, holder: isDisputed ? DISPUTED : higher.holder, beat: Math.max(a.beat, b.beat) }
}
