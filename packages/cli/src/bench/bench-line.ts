/** The command line of `freshet bench --url URL`. */
import { countFrom, durationFrom, type Environment } from '../config/value-kinds.js'
import { flagBucket, flagUrl, flagValue, serverAddress } from '../terminal/flag-values.js'
import { readFlags } from '../terminal/read-flags.js'

export interface BenchLine {
  readonly url: string
  /** A cache in front of the server, to read through. */
  readonly through: string | undefined
  readonly bucket: string
  readonly objects: number
  /** The size of each object's body. */
  readonly bytes: number
  /** How many requests are under way at once. */
  readonly clients: number
  /** How long each measurement takes. */
  readonly durationMs: number
  readonly token: string | undefined
  readonly isJson: boolean
}

const OBJECTS = countFrom(1, 100_000)
const BYTES = countFrom(20, 1_000_000)
const CLIENTS = countFrom(1, 1000)
const DURATION = durationFrom(100)

/** Throws CONFIG_INVALID. Prefer the variable for a token: other users can see command lines. */
export function readBenchLine(argv: readonly string[], environment: Environment): BenchLine {
  const given = readFlags('bench', argv, {
    values: ['url', 'through', 'bucket', 'objects', 'bytes', 'clients', 'duration', 'token'],
    switches: ['json'],
  })
  const through = given.get('through')
  return {
    url: flagUrl('bench', given),
    through: through === undefined ? undefined : serverAddress('--through', through),
    bucket: flagBucket(given.get('bucket') ?? 'freshet/bench'),
    objects: flagValue('--objects', given.get('objects') ?? '1000', OBJECTS),
    bytes: flagValue('--bytes', given.get('bytes') ?? '500', BYTES),
    clients: flagValue('--clients', given.get('clients') ?? '16', CLIENTS),
    durationMs: flagValue('--duration', given.get('duration') ?? '5s', DURATION),
    token: given.get('token') ?? (environment.FRESHET_TOKEN || undefined),
    isJson: given.has('json'),
  }
}
