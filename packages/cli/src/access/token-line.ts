/** The command line of `freshet token`. */
import { FreshetError } from '@freshet/protocol'
import { readFlags } from '../command/read-flags.js'
import { durationFrom } from '../config/value-kinds.js'
import { namesStore, PLACE_FLAGS, type Place, readPlace } from '../transfer/place.js'

export interface TokenLine {
  readonly command: 'token'
  /** Instead of making one: is it good, and what does it say? */
  readonly inspect: string | undefined
  readonly claims: Readonly<Record<string, unknown>>
  readonly expiresMs: number
  /** A private key, as PEM; else FRESHET_TOKEN_SECRET. */
  readonly keyPath: string | undefined
  /** Where it is noted in the audit that the token was made; undefined: nowhere. */
  readonly auditAt: Place | undefined
  readonly isJson: boolean
  readonly configPath: string | undefined
}

const FLAGS = {
  ...PLACE_FLAGS,
  sub: { type: 'string' },
  claims: { type: 'string' },
  expires: { type: 'string' },
  key: { type: 'string' },
  inspect: { type: 'string' },
  config: { type: 'string' },
  json: { type: 'boolean' },
} as const
const EXPIRES = durationFrom(1000)

/** Throws CONFIG_INVALID. */
export function readTokenLine(argv: readonly string[]): TokenLine {
  const given = readFlags('token', argv, FLAGS)
  const expires = given.get('expires') ?? '1h'
  const expiresMs = EXPIRES.parse(expires)
  if (expiresMs === undefined) throw invalid(`--expires takes ${EXPIRES.wants}, not ${JSON.stringify(expires)}.`)
  const sub = given.get('sub')
  return {
    command: 'token',
    inspect: given.get('inspect'),
    claims: { ...claimsOf(given.get('claims') ?? '{}'), ...(sub === undefined ? {} : { sub }) },
    expiresMs,
    keyPath: given.get('key'),
    // Only where it is asked for: a server here may have its store open.
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
    // Told below.
  }
  throw invalid(`--claims takes a JSON object such as '{"role":"editor"}', not ${JSON.stringify(text)}.`)
}

function invalid(message: string): FreshetError {
  return new FreshetError('CONFIG_INVALID', message)
}
