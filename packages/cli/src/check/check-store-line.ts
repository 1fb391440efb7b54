/** The command line of `freshet check store`. */
import { FreshetError } from '@freshet/protocol'
import { readFlags } from '../command/read-flags.js'
import { isEngine } from '../config/store-kind.js'
import type { Environment } from '../config/value-kinds.js'
import { readStorePlace, STORE_FLAGS, type StorePlace } from '../transfer/place.js'

export interface CheckStoreLine {
  readonly command: 'check-store'
  readonly place: StorePlace
  /** The folder of a new store, for all that is whole. */
  readonly salvageTo: string | undefined
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readCheckStoreLine(argv: readonly string[], environment: Environment): CheckStoreLine {
  const flags = { ...STORE_FLAGS, salvage: { type: 'string' }, json: { type: 'boolean' } } as const
  const given = readFlags('check store', argv, flags)
  const place = readStorePlace('check store', { given, environment })
  const salvageTo = given.get('salvage')
  if (salvageTo !== undefined && isEngine(place.store)) {
    throw new FreshetError(
      'CONFIG_INVALID',
      '--salvage is for the folder of an embedded store. An engine has tools of its own for this.',
    )
  }
  return { command: 'check-store', place, salvageTo, isJson: given.has('json') }
}
