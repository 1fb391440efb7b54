/** The command line of `freshet doctor --through URL`, and of `freshet doctor --store URL`. */
import { FreshetError, parseBucketName } from '@freshet/protocol'
import { readWordsAndFlags } from '../command/read-flags.js'
import type { Environment } from '../config/value-kinds.js'
import { namesStore, readStorePlace, STORE_FLAGS } from '../transfer/place.js'

export interface DoctorLine {
  readonly command: 'doctor'
  /** Where readers ask: the caches answer there. Without a slash at its end. */
  readonly through: string
  /** Where the server answers itself; undefined if it cannot be reached past the caches. */
  readonly server: string | undefined
  /** For the probe objects; there is a second one of the same name with `-brief` at its end. Undefined: a new one for each run. */
  readonly bucket: string | undefined
  readonly purgeSecret: string | undefined
  /** For what it writes. Its reads are everybody's: only these may be kept. */
  readonly token: string | undefined
  readonly isJson: boolean
}

export interface StoreDoctorLine {
  readonly command: 'doctor'
  /** A folder, or the address of an engine. */
  readonly store: string
  readonly isJson: boolean
}

const FLAGS = {
  ...STORE_FLAGS,
  through: { type: 'string' },
  server: { type: 'string' },
  bucket: { type: 'string' },
  'purge-secret': { type: 'string' },
  token: { type: 'string' },
  json: { type: 'boolean' },
} as const

/** What a header can carry. */
const SECRET = /^[\x21-\x7e]{1,4096}$/

/** Throws CONFIG_INVALID. A secret is better given in the variable: command lines can be seen by others. */
export function readDoctorLine(argv: readonly string[], environment: Environment): DoctorLine | StoreDoctorLine {
  const { words, given } = readWordsAndFlags('doctor', argv, FLAGS)
  if (words.length > 0) throw invalid(`${JSON.stringify(words[0])} is one word too many: ${USAGE}`)
  if (namesStore(given) || (!given.has('through') && hasStore(environment))) return storeLineOf(given, environment)
  const through = given.get('through')
  if (through === undefined)
    throw invalid(`Say where readers ask, ${USAGE}, or which store: freshet doctor --store redis://localhost`)
  const server = given.get('server')
  return {
    command: 'doctor',
    through: addressOf('--through', through),
    server: server === undefined ? undefined : addressOf('--server', server),
    bucket: bucketOf(given.get('bucket')),
    purgeSecret: secretOf(
      'A purge secret',
      given.get('purge-secret') ?? (environment.FRESHET_PURGE_SECRET || undefined),
    ),
    token: secretOf('A token', given.get('token') ?? (environment.FRESHET_TOKEN || undefined)),
    isJson: given.has('json'),
  }
}

/** What else is to be examined, if nothing is said? */
function hasStore({ FRESHET_STORE, FRESHET_STORE_FILE }: Environment): boolean {
  return Boolean(FRESHET_STORE || FRESHET_STORE_FILE)
}

function storeLineOf(given: ReadonlyMap<string, string>, environment: Environment): StoreDoctorLine {
  const other = [...given.keys()].find(name => !['store', 'data', 'json'].includes(name))
  if (other !== undefined) throw invalid(`--${other} is about caches, and --store about an engine. Leave one out.`)
  const { store } = readStorePlace('doctor', { given, environment })
  return { command: 'doctor', store, isJson: given.has('json') }
}

const USAGE = 'freshet doctor --through http://localhost:8080'

function addressOf(flag: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password
  if (isPlain && url.pathname === '/') return url.origin
  throw invalid(`${flag} takes an address such as http://localhost:8080, without a path, not ${JSON.stringify(text)}.`)
}

function bucketOf(text: string | undefined): string | undefined {
  try {
    if (text !== undefined) parseBucketName(text)
    return text
  } catch (cause) {
    throw new FreshetError('CONFIG_INVALID', `--bucket: ${(cause as Error).message}`, { cause })
  }
}

function secretOf(what: string, text: string | undefined): string | undefined {
  if (text === undefined || SECRET.test(text)) return text
  throw invalid(`${what} has printable characters only, and no spaces.`)
}

function invalid(message: string): FreshetError {
  return new FreshetError('CONFIG_INVALID', message)
}
