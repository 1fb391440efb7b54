/** The command line of `freshet import`. */
import { configInvalid } from '../config/config-invalid.js'
import type { Environment } from '../config/value-kinds.js'
import { readFormat } from '../export/export-line.js'
import { PLACE_FLAGS, type Place, readPlace } from '../places/place.js'
import { flagBucket } from '../terminal/flag-values.js'
import { readWordsAndFlags } from '../terminal/read-flags.js'
import { readChoice } from '../transfer/chosen-buckets.js'
import { STANDARD_INPUT } from '../transfer/line-reader.js'

export interface ImportLine {
  readonly to: Place
  /** `-` for standard input. */
  readonly files: readonly string[]
  readonly format: 'ndjson' | 'csv' | undefined
  /** Which buckets of the file to import, as given; undefined: all. */
  readonly buckets: string | undefined
  /** The bucket of objects that do not name one themselves. */
  readonly bucket: string | undefined
  /** Which column or member is the id. */
  readonly id: string
  /** Columns whose cells are text, whatever they look like. */
  readonly text: readonly string[]
  /** What to do with an object that exists already. */
  readonly existing: 'replace' | 'keep'
  readonly isDryRun: boolean
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readImportLine(argv: readonly string[], environment: Environment): ImportLine {
  const { words: files, given } = readWordsAndFlags('import', argv, {
    values: [...PLACE_FLAGS, 'format', 'buckets', 'bucket', 'id', 'text', 'existing'],
    switches: ['dry-run', 'json'],
  })
  if (files.length === 0)
    throw configInvalid('Name the files to import: freshet import shop.ndjson --url http://localhost:7700')
  const format = given.get('format') ?? (files.includes(STANDARD_INPUT) ? 'ndjson' : undefined)
  const bucket = given.get('bucket')
  if (bucket !== undefined) flagBucket(bucket)
  const isCsv = files.some(file => readFormat(format, file) === 'csv')
  if (isCsv && bucket === undefined) throw configInvalid('A CSV file names no bucket. Add --bucket shop/products.')
  const existing = given.get('existing') ?? 'replace'
  if (existing !== 'replace' && existing !== 'keep') {
    throw configInvalid(`--existing takes replace or keep, not ${JSON.stringify(existing)}.`)
  }
  readChoice(given.get('buckets'))
  return {
    to: readPlace('import', { given, environment }),
    files,
    format: format === undefined ? undefined : readFormat(format, undefined),
    buckets: given.get('buckets'),
    bucket,
    id: given.get('id') ?? 'id',
    text: given.get('text')?.split(',') ?? [],
    existing,
    isDryRun: given.has('dry-run'),
    isJson: given.has('json'),
  }
}
