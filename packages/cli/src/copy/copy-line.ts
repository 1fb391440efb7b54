/** The command line of `freshet copy --from STORE --to STORE`. */
import { FreshetError } from '@freshet/protocol'
import { readFlags } from '../command/read-flags.js'
import { isUnknownAddress } from '../config/engine-address.js'
import { EMBEDDED, isEngine, noStore } from '../config/store-kind.js'
import type { Environment } from '../config/value-kinds.js'
import { flagsOrVariables } from '../config/variables.js'

export interface CopyLine {
  readonly command: 'copy'
  /** Folders, or addresses of engines. */
  readonly from: string
  readonly to: string
  /** Goes on with what changes, until it is stopped. */
  readonly follows: boolean
  readonly isJson: boolean
}

/** `FRESHET_FROM` and `FRESHET_TO` do as well, or `FRESHET_FROM_FILE` and `FRESHET_TO_FILE`. Throws CONFIG_INVALID. */
export function readCopyLine(argv: readonly string[], environment: Environment): CopyLine {
  const given = readFlags('copy', argv, {
    from: { type: 'string' },
    to: { type: 'string' },
    follow: { type: 'boolean' },
    json: { type: 'boolean' },
  })
  const { from, to } = flagsOrVariables(given, environment, ['from', 'to'])
  if (from === undefined || to === undefined) {
    throw new FreshetError(
      'CONFIG_INVALID',
      'copy takes two stores, folders or addresses: freshet copy --from .freshet --to postgres://user@host/database. ' +
        'FRESHET_FROM and FRESHET_TO, or files that FRESHET_FROM_FILE and FRESHET_TO_FILE name, keep passwords off the command line.',
    )
  }
  for (const [flag, name] of Object.entries({ from, to })) checkStore(flag, name)
  if (from === to) throw oneStore()
  return { command: 'copy', from, to, follows: given.has('follow'), isJson: given.has('json') }
}

/** A typing error in an address must not make a folder, with a password in its name. */
function checkStore(flag: string, name: string): void {
  if (isEngine(name) || (!isUnknownAddress(name) && name !== EMBEDDED)) return
  throw new FreshetError('CONFIG_INVALID', `--${flag}: ${noStore(name, 'a folder')}`)
}

export function oneStore(): FreshetError {
  return new FreshetError(
    'CONFIG_INVALID',
    '--from and --to are one and the same store. Choose another one to copy into.',
  )
}
