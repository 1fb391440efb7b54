/** The command line of `freshet backup FOLDER`. */
import { configInvalid } from '../config/config-invalid.js'
import type { Environment } from '../config/value-kinds.js'
import { readStorePlace, STORE_FLAGS, type StorePlace } from '../places/place.js'
import { oneWord, readWordsAndFlags } from '../terminal/read-flags.js'

export interface BackupLine {
  readonly folder: string
  /** Undefined: only check the folder. */
  readonly from: StorePlace | undefined
  /** Back up each change as it happens, until stopped. */
  readonly follows: boolean
  /** Take a full backup, even if the changes would suffice. */
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
    throw configInvalid('--verify takes no store; it only checks the folder: freshet backup backups --verify')
  }
  return {
    folder,
    from: isVerified ? undefined : readStorePlace('backup', { given, environment }),
    follows: given.has('follow'),
    isFull: given.has('full'),
    isJson: given.has('json'),
  }
}
