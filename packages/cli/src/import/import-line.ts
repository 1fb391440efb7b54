/** The command line of `freshet import`. */
import { FreshetError, parseBucketName } from '@freshet/protocol'
import { readWordsAndFlags } from '../command/read-flags.js'
import type { Environment } from '../config/value-kinds.js'
import { readFormat } from '../export/export-line.js'
import { readChoice } from '../transfer/chosen-buckets.js'
import { STANDARD_INPUT } from '../transfer/line-reader.js'
import { PLACE_FLAGS, type Place, readPlace } from '../transfer/place.js'

export interface ImportLine {
  readonly command: 'import'
  readonly to: Place
  /** `-` is standard input. */
  readonly files: readonly string[]
  readonly format: 'ndjson' | 'csv' | undefined
  /** Of the file, as it was given; undefined: all. */
  readonly buckets: string | undefined
  /** Where objects go that do not say so themselves. */
  readonly bucket: string | undefined
  /** Which column or member is the id. */
  readonly id: string
  /** Columns whose cells are text, whatever they look like. */
  readonly text: readonly string[]
  /** What is done with what is there already. */
  readonly existing: 'replace' | 'keep'
  readonly isDryRun: boolean
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readImportLine(argv: readonly string[], environment: Environment): ImportLine {
  const { words: files, given } = readWordsAndFlags('import', argv, {
    ...PLACE_FLAGS,
    format: { type: 'string' },
    buckets: { type: 'string' },
    bucket: { type: 'string' },
    id: { type: 'string' },
    text: { type: 'string' },
    existing: { type: 'string' },
    'dry-run': { type: 'boolean' },
    json: { type: 'boolean' },
  })
  if (files.length === 0) throw invalid('Say what to import: freshet import shop.ndjson --url http://localhost:7700')
  const format = given.get('format') ?? (files.includes(STANDARD_INPUT) ? 'ndjson' : undefined)
  const bucket = given.get('bucket')
  if (bucket !== undefined) checkBucket(bucket)
  const isCsv = files.some(file => readFormat(format, file) === 'csv')
  if (isCsv && bucket === undefined) throw invalid('CSV does not say where it belongs: --bucket shop/products.')
  const existing = given.get('existing') ?? 'replace'
  if (existing !== 'replace' && existing !== 'keep') {
    throw invalid(`--existing takes replace or keep, not ${JSON.stringify(existing)}.`)
  }
  readChoice(given.get('buckets'))
  return {
    command: 'import',
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

function checkBucket(name: string): void {
  try {
    parseBucketName(name)
  } catch (error) {
    throw invalid(`--bucket: ${(error as Error).message}`)
  }
}

function invalid(message: string): FreshetError {
  return new FreshetError('CONFIG_INVALID', message)
}
