/** The command line of `freshet token`. */
import { configInvalid } from '../config/config-invalid.js'
import { durationFrom } from '../config/value-kinds.js'
import { namesStore, PLACE_FLAGS, type Place, readPlace } from '../places/place.js'
import { flagValue } from '../terminal/flag-values.js'
import { readFlags } from '../terminal/read-flags.js'

export interface TokenLine {
  /** A token to inspect; undefined: make one. */
  readonly inspect: string | undefined
  readonly claims: Readonly<Record<string, unknown>>
  readonly expiresMs: number
  /** The path of a private key, as PEM; undefined: sign with FRESHET_TOKEN_SECRET. */
  readonly keyPath: string | undefined
  /** The store or server whose audit log gets an entry for the new token; undefined: no entry. */
  readonly auditAt: Place | undefined
  readonly isJson: boolean
  readonly configPath: string | undefined
}

const FLAGS = {
  values: [...PLACE_FLAGS, 'sub', 'claims', 'expires', 'key', 'inspect', 'config'],
  switches: ['json'],
}
const EXPIRES = durationFrom(1000)

/** Throws CONFIG_INVALID. */
export function readTokenLine(argv: readonly string[]): TokenLine {
  const given = readFlags('token', argv, FLAGS)
  const sub = given.get('sub')
  return {
    inspect: given.get('inspect'),
    claims: { ...claimsOf(given.get('claims') ?? '{}'), ...(sub === undefined ? {} : { sub }) },
    expiresMs: flagValue('--expires', given.get('expires') ?? '1h', EXPIRES),
    keyPath: given.get('key'),
    // Only if the command line names one: a server on this machine may have its store open.
    auditAt: given.has('url') || namesStore(given) ? readPlace('token', { given, environment: {} }) : undefined,
    isJson: given.has('json'),
    configPath: given.get('config'),
  }
}

function claimsOf(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text) as unknown
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Refused below.
  }
  throw configInvalid(`--claims takes a JSON object such as '{"role":"editor"}', not ${JSON.stringify(text)}.`)
}
