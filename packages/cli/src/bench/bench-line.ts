/** The command line of `freshet bench --url URL`. */
import { FreshetError, parseBucketName } from '@freshet/protocol'
import { readFlags, serverAddress } from '../command/read-flags.js'
import { durationFrom } from '../config/value-kinds.js'

export interface BenchLine {
  readonly command: 'bench'
  readonly url: string
  /** A cache before it, to be read through. */
  readonly through: string | undefined
  readonly bucket: string
  readonly objects: number
  /** Of the body of each. */
  readonly bytes: number
  /** So many requests are under way at once. */
  readonly clients: number
  /** Of each measurement. */
  readonly durationMs: number
  readonly token: string | undefined
  readonly isJson: boolean
}

const BYTES_MIN = 20
const DURATION = durationFrom(100)

/** Throws CONFIG_INVALID. A token is better given in the variable: command lines can be seen by others. */
export function readBenchLine(argv: readonly string[], environment: NodeJS.ProcessEnv = process.env): BenchLine {
  const given = readFlags('bench', argv, {
    url: { type: 'string' },
    through: { type: 'string' },
    bucket: { type: 'string' },
    objects: { type: 'string' },
    bytes: { type: 'string' },
    clients: { type: 'string' },
    duration: { type: 'string' },
    token: { type: 'string' },
    json: { type: 'boolean' },
  })
  const through = given.get('through')
  return {
    command: 'bench',
    url: serverAddress('bench', given.get('url')),
    through: through === undefined ? undefined : serverAddress('bench', through, '--through'),
    bucket: bucketOf(given.get('bucket') ?? 'freshet/bench'),
    objects: countOf('objects', given.get('objects') ?? '1000', 1, 100_000),
    bytes: countOf('bytes', given.get('bytes') ?? '500', BYTES_MIN, 1_000_000),
    clients: countOf('clients', given.get('clients') ?? '16', 1, 1000),
    durationMs: durationOf(given.get('duration') ?? '5s'),
    token: given.get('token') ?? (environment.FRESHET_TOKEN || undefined),
    isJson: given.has('json'),
  }
}

function bucketOf(text: string): string {
  try {
    parseBucketName(text)
    return text
  } catch (cause) {
    throw new FreshetError('CONFIG_INVALID', `--bucket: ${(cause as Error).message}`, { cause })
  }
}

function countOf(name: string, text: string, min: number, max: number): number {
  const count = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (count >= min && count <= max) return count
  throw new FreshetError(
    'CONFIG_INVALID',
    `--${name} takes a whole number from ${min} to ${max}, not ${JSON.stringify(text)}.`,
  )
}

function durationOf(text: string): number {
  const durationMs = DURATION.parse(text)
  if (durationMs !== undefined) return durationMs
  throw new FreshetError('CONFIG_INVALID', `--duration takes ${DURATION.wants}, not ${JSON.stringify(text)}.`)
}
