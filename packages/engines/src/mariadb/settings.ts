/** The settings of MariaDB that put acknowledged commits at risk. */
import type { StoreSupports } from '@freshet/core/store'

export interface Settings {
  readonly hasBinlog: boolean
  readonly syncs: number
  readonly flushes: number
  readonly isDoublewrite: boolean
}

/** Columns, which `settingsIn` reads. */
export const SETTINGS = '@@log_bin, @@sync_binlog, @@innodb_flush_log_at_trx_commit, @@innodb_doublewrite'

export function settingsIn([hasBinlog, syncs, flushes, doublewrite]: readonly unknown[]): Settings {
  return {
    hasBinlog: hasBinlog === 1,
    syncs: syncs as number,
    flushes: flushes as number,
    // A number before MariaDB 11, a word since.
    isDoublewrite: doublewrite !== 0 && doublewrite !== 'OFF',
  }
}

export function durabilityOf(settings: Settings): StoreSupports['durability'] {
  return risksOf(settings).length === 0 ? 'disk' : 'relaxed'
}

export function risksOf({ hasBinlog, syncs, flushes, isDoublewrite }: Settings): readonly string[] {
  const lost = 'after a crash the last commits may be lost, though they were acknowledged. Set it to 1'
  const torn = 'after a crash of its machine pages may be torn, unless its disk writes them whole. Set it to ON'
  return [
    ...(flushes === 0 || flushes === 2 ? [`innodb_flush_log_at_trx_commit = ${flushes}: ${lost}`] : []),
    ...(hasBinlog && syncs !== 1 ? [`sync_binlog = ${syncs}: ${lost}`] : []),
    ...(isDoublewrite ? [] : [`innodb_doublewrite = OFF: ${torn}`]),
  ]
}
