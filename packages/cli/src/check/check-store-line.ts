/** The command line of `freshet check store`. */
import { configInvalid } from '../config/config-invalid.js'
import { isEngine } from '../config/store-kind.js'
import type { Environment } from '../config/value-kinds.js'
import { readStorePlace, STORE_FLAGS, type StorePlace } from '../places/place.js'
import { readFlags } from '../terminal/read-flags.js'

export interface CheckStoreLine {
  readonly place: StorePlace
  /** The folder of a new store that receives everything undamaged. */
  readonly salvageTo: string | undefined
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readCheckStoreLine(argv: readonly string[], environment: Environment): CheckStoreLine {
  const given = readFlags('check store', argv, { values: [...STORE_FLAGS, 'salvage'], switches: ['json'] })
  const place = readStorePlace('check store', { given, environment })
  const salvageTo = given.get('salvage')
  if (salvageTo !== undefined && isEngine(place.store)) {
    throw configInvalid(
      "--salvage works on the folder of an embedded store only. For an engine, use the engine's own tools.",
    )
  }
  return { place, salvageTo, isJson: given.has('json') }
}
