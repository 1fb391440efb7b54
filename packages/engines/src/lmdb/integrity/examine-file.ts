/**
 * Examines the file of an embedded store as a whole, without LMDB: the trees with `walk-tables.ts`, the records by their
 * checksums. It needs no lock, and no damage can end the process. The file must not change during the examination: either no
 * process writes to it, or a reader holds the state.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DATA_FILE, NAME_OF_TABLE } from '../environment.js'
import { hasChecksums } from '../records.js'
import { CHECKSUM_BYTES, isWhole, seedOf } from './checked-records.js'
import { FileDamage, LmdbFile, type Meta } from './lmdb-file.js'
import { walkTables } from './walk-tables.js'

export interface Damage {
  /** What is wrong, in words. */
  readonly what: string
  /** The key of the damaged record, if it is in the table of values and its place in the tree is undamaged. */
  readonly key?: string
}

export interface Examination {
  readonly bytes: number
  readonly records: number
  /** False: the store has a format without checksums, so only the trees were examined. */
  readonly hasChecksums: boolean
  readonly damages: readonly Damage[]
}

export interface ExamineOptions {
  readonly path: string
  /** 'branches': only the pages that lead to the records, a small part of the file; 'records' by default. */
  readonly depth?: 'records' | 'branches' | undefined
  /** A held state; the latest by default. */
  readonly meta?: Meta | undefined
  /** The examination waits for its promise. */
  readonly onProgress?: ((doneBytes: number, bytes: number) => Promise<void> | void) | undefined
  /** Called with each undamaged record, without its checksum; the records of a table come in the order of their keys. */
  readonly onRecord?: ((table: string, key: string, record: Buffer) => void) | undefined
}

/** How many damages are described; the rest is only counted. */
const DAMAGES_MAX = 10_000
/** The version that LMDB keeps before each record of the meta table. */
const VERSION_BYTES = 8

/** Undefined if there is no store. */
export async function examineFile(options: ExamineOptions): Promise<Examination | undefined> {
  const { path, depth = 'records', onProgress, onRecord } = options
  const place = join(path, DATA_FILE)
  const bytes = statSync(place, { throwIfNoEntry: false })?.size ?? 0
  if (bytes === 0) return undefined
  const damages: Damage[] = []
  const report = (damage: Damage) => {
    if (damages.length < DAMAGES_MAX) damages.push(damage)
  }
  let records = 0
  let isChecked = true
  let file: LmdbFile | undefined
  try {
    file = new LmdbFile(place)
    const { pageBytes } = file
    const meta = options.meta ?? file.state()
    isChecked = await hasSums(file, meta)
    const seeds = new Map(Object.values(NAME_OF_TABLE).map(name => [name, seedOf(name)]))
    await walkTables({
      file,
      meta,
      tables: Object.values(NAME_OF_TABLE),
      depth,
      onProgress: pages => onProgress?.(Math.min(bytes, pages * pageBytes), bytes),
      onDamage: what => report({ what }),
      onRecord: (table, key, stored) => {
        records++
        const record = table === NAME_OF_TABLE.meta ? stored.subarray(VERSION_BYTES) : stored
        const name = () => key.toString()
        if (isChecked && !isWhole(seeds.get(table)!, key, key.length, record, record.length)) {
          report({
            what: `the record of ${JSON.stringify(name())} (table ${table}) does not match its checksum`,
            ...(table === NAME_OF_TABLE.values ? { key: name() } : {}),
          })
        } else {
          onRecord?.(table, name(), isChecked ? record.subarray(0, record.length - CHECKSUM_BYTES) : record)
        }
      },
    })
  } catch (error) {
    if (!(error instanceof FileDamage)) throw error
    report({ what: `${DATA_FILE}: ${error.message}` })
  } finally {
    file?.close()
  }
  return { bytes, records, hasChecksums: isChecked, damages }
}

/** Decided by the record of the format. If that cannot be found, checksums are expected. */
async function hasSums(file: LmdbFile, meta: Meta): Promise<boolean> {
  let format: Buffer | undefined
  await walkTables({
    file,
    meta,
    tables: [NAME_OF_TABLE.meta],
    depth: 'records',
    onProgress: () => {},
    onDamage: () => {},
    onRecord: (_, key, stored) => {
      if (key.toString() === 'format') format = Buffer.from(stored.subarray(VERSION_BYTES))
    },
  })
  return hasChecksums(format)
}
