/** The command line of `freshet copy --from STORE --to STORE`. */
import { FreshetError } from '@freshet/protocol'
import { readFlags } from '../command/read-flags.js'

export interface CopyLine {
  readonly command: 'copy'
  /** Folders, or addresses of engines. */
  readonly from: string
  readonly to: string
  /** Goes on with what changes, until it is stopped. */
  readonly follows: boolean
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readCopyLine(argv: readonly string[]): CopyLine {
  const given = readFlags('copy', argv, {
    from: { type: 'string' },
    to: { type: 'string' },
    follow: { type: 'boolean' },
    json: { type: 'boolean' },
  })
  const [from, to] = [given.get('from'), given.get('to')]
  if (from === undefined || to === undefined || from === to) {
    throw new FreshetError(
      'CONFIG_INVALID',
      'copy takes two stores, folders or addresses: freshet copy --from .freshet --to postgres://user@host/database',
    )
  }
  return { command: 'copy', from, to, follows: given.has('follow'), isJson: given.has('json') }
}
