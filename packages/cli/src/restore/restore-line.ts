/** The command line of `freshet restore FOLDER`. */
import { configInvalid } from '../config/config-invalid.js'
import type { Environment } from '../config/value-kinds.js'
import { readStorePlace, STORE_FLAGS, type StorePlace } from '../places/place.js'
import { oneWord, readWordsAndFlags } from '../terminal/read-flags.js'

export interface RestoreLine {
  readonly folder: string
  readonly to: StorePlace
  /** Undefined: the latest state. */
  readonly at: { readonly timeMs: number } | { readonly position: number } | undefined
  /** Restore only one key, or all damaged ones, into a store that has data. Undefined: everything, into an empty store. */
  readonly only: { readonly key: string } | 'damaged' | undefined
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readRestoreLine(argv: readonly string[], environment: Environment): RestoreLine {
  const { words, given } = readWordsAndFlags('restore', argv, {
    values: [...STORE_FLAGS, 'at', 'key'],
    switches: ['damaged', 'json'],
  })
  const folder = oneWord('restore', words, 'one folder of backups: freshet restore backups --data new')
  return {
    folder,
    to: readStorePlace('restore', { given, environment }),
    at: readAt(given.get('at')),
    only: readOnly(given),
    isJson: given.has('json'),
  }
}

function readOnly(given: ReadonlyMap<string, string>): RestoreLine['only'] {
  const key = given.get('key')
  if (key !== undefined && given.has('damaged')) throw configInvalid('Give --key or --damaged, not both.')
  if (key !== undefined) return { key }
  return given.has('damaged') ? 'damaged' : undefined
}

function readAt(text: string | undefined): RestoreLine['at'] {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return { position: Number(text) }
  const timeMs = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isFinite(timeMs)) return { timeMs }
  throw configInvalid(`--at takes a time such as 2026-11-16T15:00:00Z, or a position, not ${JSON.stringify(text)}.`)
}
