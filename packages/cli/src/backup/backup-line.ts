/** The command line of `freshet backup FOLDER`. */
import { configInvalid } from '../config/config-invalid.js'
import type { Environment } from '../config/value-kinds.js'
import { readStorePlace, STORE_FLAGS, type StorePlace } from '../places/place.js'
import { oneWord, readWordsAndFlags } from '../terminal/read-flags.js'

export interface BackupLine {
  readonly folder: string
  /** Undefined: the command only checks whether the folder is good. */
  readonly from: StorePlace | undefined
  /** Backs up each change as it happens, until it is stopped. */
  readonly follows: boolean
  /** A full backup, although the changes would do. */
  readonly isFull: boolean
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readBackupLine(argv: readonly string[], environment: Environment): BackupLine {
  const { words, given } = readWordsAndFlags('backup', argv, {
    values: STORE_FLAGS,
    switches: ['follow', 'full', 'verify', 'json'],
  })
  const folder = oneWord('backup', words, 'one folder: freshet backup backups --data .freshet')
  const isVerified = given.has('verify')
  if (isVerified && ['store', 'data', 'follow', 'full'].some(flag => given.has(flag))) {
    throw configInvalid('--verify only looks at the folder: freshet backup backups --verify')
  }
  return {
    folder,
    from: isVerified ? undefined : readStorePlace('backup', { given, environment }),
    follows: given.has('follow'),
    isFull: given.has('full'),
    isJson: given.has('json'),
  }
}
