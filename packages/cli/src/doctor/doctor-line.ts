/** The command line of `freshet doctor --through URL`, and of `freshet doctor --store URL`. */
import { configInvalid } from '../config/config-invalid.js'
import type { Environment } from '../config/value-kinds.js'
import { namesStore, readStorePlace, STORE_FLAGS } from '../places/place.js'
import { flagBucket, serverAddress } from '../terminal/flag-values.js'
import { readWordsAndFlags } from '../terminal/read-flags.js'

export interface DoctorLine {
  /** The address that readers use, where the caches answer. It has no slash at its end. */
  readonly through: string
  /** The address of the server itself; undefined if it cannot be reached past the caches. */
  readonly server: string | undefined
  /**
   * The bucket for the probe objects; a second one has the same name and the ending `-brief`. Undefined: a new one for each run.
   */
  readonly bucket: string | undefined
  readonly purgeSecret: string | undefined
  /** The token for its writes. Its reads carry no token, because caches may store only public answers. */
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

/** The characters that a header can carry. */
const SECRET = /^[\x21-\x7e]{1,4096}$/

/** Throws CONFIG_INVALID. A secret is better given in the variable: other users can see command lines. */
export function readDoctorLine(argv: readonly string[], environment: Environment): DoctorLine | StoreDoctorLine {
  const { words, given } = readWordsAndFlags('doctor', argv, FLAGS)
  if (words.length > 0) throw configInvalid(`doctor takes no argument ${JSON.stringify(words[0])}: ${USAGE}`)
  if (namesStore(given) || (!given.has('through') && hasStore(environment))) return storeLineOf(given, environment)
  const through = given.get('through')
  if (through === undefined)
    throw configInvalid(`Name what to examine: a cache, ${USAGE}, or a store, freshet doctor --store redis://localhost`)
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

/** Without flags, the doctor examines the store that the variables name. */
function hasStore({ FRESHET_STORE, FRESHET_STORE_FILE }: Environment): boolean {
  return Boolean(FRESHET_STORE || FRESHET_STORE_FILE)
}

function storeLineOf(given: ReadonlyMap<string, string>, environment: Environment): StoreDoctorLine {
  const other = [...given.keys()].find(name => !['store', 'data', 'json'].includes(name))
  if (other !== undefined)
    throw configInvalid(`--${other} is for caches, and --store and --data for a store. Leave one out.`)
  const { store } = readStorePlace('doctor', { given, environment })
  return { store, isJson: given.has('json') }
}

const CACHE_EXAMPLE = 'http://localhost:8080'
const USAGE = `freshet doctor --through ${CACHE_EXAMPLE}`

function secretOf(what: string, text: string | undefined): string | undefined {
  if (text === undefined || SECRET.test(text)) return text
  throw configInvalid(`${what} consists of printable characters, without spaces.`)
}
