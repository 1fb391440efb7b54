/** The command line of `freshet export`. */
import { configInvalid } from '../config/config-invalid.js'
import type { Environment } from '../config/value-kinds.js'
import { PLACE_FLAGS, type Place, readPlace } from '../places/place.js'
import { readFlags } from '../terminal/read-flags.js'
import { readChoice } from '../transfer/chosen-buckets.js'

export interface ExportLine {
  readonly from: Place
  readonly format: 'ndjson' | 'csv'
  /** As given; undefined: all. */
  readonly buckets: string | undefined
  /** Undefined: standard output. */
  readonly out: string | undefined
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readExportLine(argv: readonly string[], environment: Environment): ExportLine {
  const given = readFlags('export', argv, {
    values: [...PLACE_FLAGS, 'buckets', 'format', 'out'],
    switches: ['json'],
  })
  const out = given.get('out')
  const buckets = given.get('buckets')
  readChoice(buckets)
  return {
    from: readPlace('export', { given, environment }),
    format: readFormat(given.get('format'), out),
    buckets,
    out,
    isJson: given.has('json'),
  }
}

/** The format given, or otherwise the one of the file's extension. */
export function readFormat(text: string | undefined, file: string | undefined): 'ndjson' | 'csv' {
  if (text === 'ndjson' || text === 'csv') return text
  if (text !== undefined) throw configInvalid(`--format takes ndjson or csv, not ${JSON.stringify(text)}.`)
  return file?.toLowerCase().endsWith('.csv') ? 'csv' : 'ndjson'
}
