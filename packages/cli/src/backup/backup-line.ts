/** The command line of `freshet backup FOLDER`. */
import { FreshetError } from '@freshet/protocol'
import { readWordsAndFlags } from '../command/read-flags.js'
import type { Environment } from '../config/value-kinds.js'
import { readStorePlace, STORE_FLAGS, type StorePlace } from '../transfer/place.js'

export interface BackupLine {
  readonly command: 'backup'
  readonly folder: string
  /** Undefined: it is only looked whether the folder is good. */
  readonly from: StorePlace | undefined
  /** Goes on with what changes, until it is stopped. */
  readonly follows: boolean
  /** All anew, also where what has changed would do. */
  readonly isFull: boolean
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readBackupLine(argv: readonly string[], environment: Environment): BackupLine {
  const { words, given } = readWordsAndFlags('backup', argv, {
    ...STORE_FLAGS,
    follow: { type: 'boolean' },
    full: { type: 'boolean' },
    verify: { type: 'boolean' },
    json: { type: 'boolean' },
  })
  const [folder, more] = words
  if (folder === undefined || more !== undefined) {
    throw new FreshetError('CONFIG_INVALID', 'backup takes one folder: freshet backup backups --data .freshet')
  }
  const isVerified = given.has('verify')
  if (isVerified && ['store', 'data', 'follow', 'full'].some(flag => given.has(flag))) {
    throw new FreshetError('CONFIG_INVALID', '--verify only looks at the folder: freshet backup backups --verify')
  }
  return {
    command: 'backup',
    folder,
    from: isVerified ? undefined : readStorePlace('backup', { given, environment }),
    follows: given.has('follow'),
    isFull: given.has('full'),
    isJson: given.has('json'),
  }
}
