/** The command line of `freshet migrate --url URL`. */
import { readFlags, serverAddress } from '../command/read-flags.js'

export interface MigrateLine {
  readonly command: 'migrate'
  readonly url: string
  /** Of the migrations. */
  readonly folder: string
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readMigrateLine(argv: readonly string[]): MigrateLine {
  const given = readFlags('migrate', argv, {
    url: { type: 'string' },
    folder: { type: 'string' },
    json: { type: 'boolean' },
  })
  const url = serverAddress('migrate', given.get('url'))
  return { command: 'migrate', url, folder: given.get('folder') ?? 'migrations', isJson: given.has('json') }
}
