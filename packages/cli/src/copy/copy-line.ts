/** The command line of `freshet copy --from STORE --to STORE`. */
import { configInvalid } from '../config/config-invalid.js'
import { isUnknownAddress } from '../config/engine-address.js'
import { EMBEDDED, isEngine, noStore } from '../config/store-kind.js'
import type { Environment } from '../config/value-kinds.js'
import { flagsOrVariables } from '../config/variables.js'
import { readFlags } from '../terminal/read-flags.js'

export interface CopyLine {
  /** Folders, or addresses of engines. */
  readonly from: string
  readonly to: string
  /** Copy each change as it happens, until stopped. */
  readonly follows: boolean
  readonly isJson: boolean
}

/**
 * The variables FRESHET_FROM and FRESHET_TO, or FRESHET_FROM_FILE and FRESHET_TO_FILE, replace missing flags. Throws
 * CONFIG_INVALID.
 */
export function readCopyLine(argv: readonly string[], environment: Environment): CopyLine {
  const given = readFlags('copy', argv, { values: ['from', 'to'], switches: ['follow', 'json'] })
  const { from, to } = flagsOrVariables(given, environment, ['from', 'to'])
  if (from === undefined || to === undefined) {
    throw configInvalid(
      'copy takes two stores (folders or addresses): freshet copy --from .freshet --to postgres://user@host/database. ' +
        'FRESHET_FROM and FRESHET_TO, or files that FRESHET_FROM_FILE and FRESHET_TO_FILE name, keep passwords off the command line.',
    )
  }
  for (const [flag, name] of Object.entries({ from, to })) checkStore(flag, name)
  if (from === to) throw oneStore()
  return { from, to, follows: given.has('follow'), isJson: given.has('json') }
}

/** A typing error in an address must not create a folder with a password in its name. */
function checkStore(flag: string, name: string): void {
  if (isEngine(name) || (!isUnknownAddress(name) && name !== EMBEDDED)) return
  throw configInvalid(`--${flag}: ${noStore(name, 'a folder')}`)
}

export function oneStore(): Error {
  return configInvalid('--from and --to name the same store. Choose another one to copy into.')
}
