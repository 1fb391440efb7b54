/** The command line of `freshet doctor --through URL`, and of `freshet doctor --store URL`. */
import { parseArgs } from 'node:util'
import { FreshetError, parseBucketName } from '@freshet/protocol'
import { didYouMean } from '../config/nearest-name.js'

export interface DoctorLine {
  readonly command: 'doctor'
  /** Where readers ask: the caches answer there. Without a slash at its end. */
  readonly through: string
  /** Where the server answers itself; undefined if it cannot be reached past the caches. */
  readonly server: string | undefined
  /** For the probe objects; there is a second one of the same name with `-brief` at its end. */
  readonly bucket: string
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
  store: { type: 'string' },
  through: { type: 'string' },
  server: { type: 'string' },
  bucket: { type: 'string' },
  'purge-secret': { type: 'string' },
  token: { type: 'string' },
  json: { type: 'boolean' },
} as const

export const BUCKET = 'freshet/doctor'
/** What a header can carry. */
const SECRET = /^[\x21-\x7e]{1,4096}$/

/** Throws CONFIG_INVALID. A secret is better given in the variable: command lines can be seen by others. */
export function readDoctorLine(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): DoctorLine | StoreDoctorLine {
  const { tokens } = parseArgs({ args: [...argv], options: FLAGS, strict: false, allowPositionals: true, tokens: true })
  const given = new Map<string, string>()
  for (const token of tokens) {
    if (token.kind === 'positional') throw invalid(`${JSON.stringify(token.value)} is one word too many: ${USAGE}`)
    if (token.kind !== 'option') continue
    const name = flagOf(token.rawName, token.name)
    if (given.has(name)) throw invalid(`--${name} is given twice. Leave one out.`)
    given.set(name, textOf(token))
  }
  const store = given.get('store')
  if (store !== undefined) return storeLineOf(store, given)
  const through = given.get('through')
  if (through === undefined) throw invalid(`Say where readers ask: ${USAGE}`)
  const server = given.get('server')
  return {
    command: 'doctor',
    through: addressOf('--through', through),
    server: server === undefined ? undefined : addressOf('--server', server),
    bucket: bucketOf(given.get('bucket') ?? BUCKET),
    purgeSecret: secretOf(
      'A purge secret',
      given.get('purge-secret') ?? (environment.FRESHET_PURGE_SECRET || undefined),
    ),
    token: secretOf('A token', given.get('token') ?? (environment.FRESHET_TOKEN || undefined)),
    isJson: given.has('json'),
  }
}

function storeLineOf(store: string, given: ReadonlyMap<string, string>): StoreDoctorLine {
  const other = [...given.keys()].find(name => name !== 'store' && name !== 'json')
  if (other !== undefined) throw invalid(`--${other} is about caches, and --store about an engine. Leave one out.`)
  return { command: 'doctor', store, isJson: given.has('json') }
}

const USAGE = 'freshet doctor --through http://localhost:8080'

function flagOf(rawName: string, name: string): string {
  if (Object.hasOwn(FLAGS, name)) return name
  const guess = didYouMean(name, Object.keys(FLAGS), flag => `--${flag}`)
  throw invalid(`${rawName} is no option of doctor.${guess || ' freshet --help lists them.'}`)
}

function textOf({ name, rawName, value }: { name: string; rawName: string; value?: string | undefined }): string {
  const isSwitch = FLAGS[name as keyof typeof FLAGS].type === 'boolean'
  if (isSwitch && value === undefined) return ''
  if (!isSwitch && value !== undefined && !value.startsWith('--')) return value
  throw invalid(isSwitch ? `${rawName} takes no value.` : `${rawName} needs a value after it.`)
}

function addressOf(flag: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password
  if (isPlain && url.pathname === '/') return url.origin
  throw invalid(`${flag} takes an address such as http://localhost:8080, without a path, not ${JSON.stringify(text)}.`)
}

function bucketOf(text: string): string {
  try {
    parseBucketName(text)
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
