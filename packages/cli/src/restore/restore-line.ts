/** The command line of `freshet restore FOLDER`. */
import { FreshetError } from '@freshet/protocol'
import { readWordsAndFlags } from '../command/read-flags.js'
import type { Environment } from '../config/value-kinds.js'
import { readStorePlace, STORE_FLAGS, type StorePlace } from '../transfer/place.js'

export interface RestoreLine {
  readonly command: 'restore'
  readonly folder: string
  readonly to: StorePlace
  /** Undefined: the latest there is. */
  readonly at: { readonly timeMs: number } | { readonly position: number } | undefined
  /** Only these, into a store that has data: one key, or all whose records are damaged. Undefined: everything, into an empty store. */
  readonly only: { readonly key: string } | 'damaged' | undefined
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readRestoreLine(argv: readonly string[], environment: Environment): RestoreLine {
  const { words, given } = readWordsAndFlags('restore', argv, {
    ...STORE_FLAGS,
    at: { type: 'string' },
    key: { type: 'string' },
    damaged: { type: 'boolean' },
    json: { type: 'boolean' },
  })
  const [folder, more] = words
  if (folder === undefined || more !== undefined) {
    throw new FreshetError('CONFIG_INVALID', 'restore takes one folder of backups: freshet restore backups --data new')
  }
  return {
    command: 'restore',
    folder,
    to: readStorePlace('restore', { given, environment }),
    at: readAt(given.get('at')),
    only: readOnly(given),
    isJson: given.has('json'),
  }
}

function readOnly(given: ReadonlyMap<string, string>): RestoreLine['only'] {
  const key = given.get('key')
  if (key !== undefined && given.has('damaged'))
    throw new FreshetError('CONFIG_INVALID', 'Give --key or --damaged, not both.')
  if (key !== undefined) return { key }
  return given.has('damaged') ? 'damaged' : undefined
}

function readAt(text: string | undefined): RestoreLine['at'] {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return { position: Number(text) }
  const timeMs = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isFinite(timeMs)) return { timeMs }
  throw new FreshetError(
    'CONFIG_INVALID',
    `--at takes a time such as 2026-11-16T15:00:00Z, or a position, not ${JSON.stringify(text)}.`,
  )
}
