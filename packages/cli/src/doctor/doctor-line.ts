/** The command line of `freshet doctor --through URL`, and of `freshet doctor --store URL`. */
import { configInvalid } from '../config/config-invalid.js'
import type { Environment } from '../config/value-kinds.js'
import { namesStore, readStorePlace, STORE_FLAGS } from '../places/place.js'
import { flagBucket, serverAddress } from '../terminal/flag-values.js'
import { readWordsAndFlags } from '../terminal/read-flags.js'

export interface DoctorLine {
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
  /** A folder, or the address of an engine. */
  readonly store: string
  readonly isJson: boolean
}

const FLAGS = {
  values: [...STORE_FLAGS, 'through', 'server', 'bucket', 'purge-secret', 'token'],
  switches: ['json'],
}

/** What a header can carry. */
const SECRET = /^[\x21-\x7e]{1,4096}$/

/** Throws CONFIG_INVALID. A secret is better given in the variable: command lines can be seen by others. */
export function readDoctorLine(argv: readonly string[], environment: Environment): DoctorLine | StoreDoctorLine {
  const { words, given } = readWordsAndFlags('doctor', argv, FLAGS)
  if (words.length > 0) throw configInvalid(`${JSON.stringify(words[0])} is one word too many: ${USAGE}`)
  if (namesStore(given) || (!given.has('through') && hasStore(environment))) return storeLineOf(given, environment)
  const through = given.get('through')
  if (through === undefined)
    throw configInvalid(`Say where readers ask, ${USAGE}, or which store: freshet doctor --store redis://localhost`)
  const [server, bucket] = [given.get('server'), given.get('bucket')]
  return {
    through: serverAddress('--through', through, CACHE_EXAMPLE),
    server: server === undefined ? undefined : serverAddress('--server', server, CACHE_EXAMPLE),
    bucket: bucket === undefined ? undefined : flagBucket(bucket),
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
  if (other !== undefined)
    throw configInvalid(`--${other} is about caches, and --store about an engine. Leave one out.`)
  const { store } = readStorePlace('doctor', { given, environment })
  return { store, isJson: given.has('json') }
}

const CACHE_EXAMPLE = 'http://localhost:8080'
const USAGE = `freshet doctor --through ${CACHE_EXAMPLE}`

function secretOf(what: string, text: string | undefined): string | undefined {
  if (text === undefined || SECRET.test(text)) return text
  throw configInvalid(`${what} has printable characters only, and no spaces.`)
}
