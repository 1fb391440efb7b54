/** The command line of `freshet migrate --url URL`. */
import { flagUrl } from '../terminal/flag-values.js'
import { readFlags } from '../terminal/read-flags.js'

export interface MigrateLine {
  readonly url: string
  /** The folder of the migrations. */
  readonly folder: string
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readMigrateLine(argv: readonly string[]): MigrateLine {
  const given = readFlags('migrate', argv, { values: ['url', 'folder'], switches: ['json'] })
  return { url: flagUrl('migrate', given), folder: given.get('folder') ?? 'migrations', isJson: given.has('json') }
}
