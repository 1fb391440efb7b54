/**
 * Verifies bearer tokens (RFC 6750): JWTs, by `jose` (docs/decisions/0018). Which key may verify a token is decided by its
 * algorithm before its signature is looked at, and a key never serves for two: so a public key is never taken for a secret, and
 * `none` finds no key at all.
 *
 * A token costs one verification. What came of it is kept under the token itself, until it expires, or for a few minutes: so long a key
 * that was withdrawn goes on to be believed. Nothing is kept of a token that is refused.
 */
import { createPublicKey } from 'node:crypto'
import { FreshetError } from '@freshet/protocol'
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose'
import type { Claims } from './rules/decision.js'
import { objectionToTokens, type TokenConfig } from './token-config.js'

const PUBLIC_ALGORITHMS = ['RS256', 'ES256', 'EdDSA']
const KEPT_MAX = 10_000
/** Of all tokens together. */
const KEPT_CHARACTERS_MAX = 8 * 1024 * 1024
const KEPT_MS_MAX = 5 * 60_000
const TOKEN_LENGTH_MAX = 8192
const FETCH_MS_MAX = 5_000

interface Kept {
  readonly claims: Claims
  readonly untilMs: number
}

export class TokenVerifier {
  readonly #config: TokenConfig
  readonly #secret: Uint8Array | undefined
  /** Those at hand first, then those that have to be fetched. */
  readonly #keys: (() => JWTVerifyGetKey | Promise<JWTVerifyGetKey>)[]
  #discovered: Promise<JWTVerifyGetKey> | undefined
  /** In the order of insertion: the oldest goes first. */
  readonly #kept = new Map<string, Kept>()
  #keptCharacters = 0
  readonly #underWay = new Map<string, Promise<Claims>>()
  /** How many signatures were looked at. */
  verifications = 0

  /** Throws a TypeError if the configuration cannot be meant. */
  constructor(config: TokenConfig) {
    const objection = objectionToTokens(config)
    if (objection !== undefined) throw new TypeError(objection)
    this.#config = config
    this.#secret = config.secret === undefined ? undefined : new TextEncoder().encode(config.secret)
    const { publicKey, jwksUrl, oidcIssuer } = config
    const known = [
      ...(publicKey === undefined ? [] : [localKeys(publicKey)]),
      ...(jwksUrl === undefined ? [] : [remoteKeys(jwksUrl)]),
    ]
    this.#keys = known.map(keys => () => keys)
    if (oidcIssuer !== undefined) this.#keys.push(() => this.#discover(oidcIssuer))
  }

  /** What a token that was verified lately says of its bearer; undefined of any other. */
  recall(token: string): Claims | undefined {
    const kept = this.#kept.get(token)
    return kept !== undefined && Date.now() < kept.untilMs ? kept.claims : undefined
  }

  /** What a token says of its bearer. Throws UNAUTHENTICATED, or SERVER_BUSY if its keys cannot be had just now. */
  verify(token: string): Promise<Claims> {
    if (token.length > TOKEN_LENGTH_MAX) return Promise.reject(refused('it is too long'))
    const known = this.recall(token)
    if (known !== undefined) return Promise.resolve(known)
    this.#forget(token)
    let verifying = this.#underWay.get(token)
    if (verifying === undefined) {
      verifying = this.#verify(token).finally(() => this.#underWay.delete(token))
      this.#underWay.set(token, verifying)
    }
    return verifying
  }

  async #verify(token: string): Promise<Claims> {
    try {
      const payload = await this.#check(token)
      this.#keep(token, payload)
      return payload
    } catch (error) {
      throw refusalOf(error)
    }
  }

  async #check(token: string): Promise<JWTPayload> {
    const { alg } = decodeProtectedHeader(token)
    const { audience, issuer, oidcIssuer, leewayMs } = this.#config
    const expectedIssuer = oidcIssuer ?? issuer
    const options = {
      audience,
      ...(expectedIssuer === undefined ? {} : { issuer: expectedIssuer }),
      clockTolerance: leewayMs / 1000,
      requiredClaims: ['exp'],
    }
    this.verifications++
    if (alg === 'HS256') {
      if (this.#secret === undefined) throw new errors.JOSEAlgNotAllowed('no secret')
      return (await jwtVerify(token, this.#secret, { ...options, algorithms: ['HS256'] })).payload
    }
    if (alg === undefined || !PUBLIC_ALGORITHMS.includes(alg)) throw new errors.JOSEAlgNotAllowed(String(alg))
    return this.#checkByPublicKeys(token, { ...options, algorithms: PUBLIC_ALGORITHMS })
  }

  async #checkByPublicKeys(token: string, options: JWTVerifyOptions): Promise<JWTPayload> {
    let failure: unknown = new errors.JWKSNoMatchingKey()
    for (const keys of this.#keys) {
      try {
        return (await jwtVerify(token, await keys(), options)).payload
      } catch (error) {
        // Its signature is good: no other key has more to say of it.
        if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed) throw error
        // Keys that could not be had may be those that it was signed with.
        if (refusalOf(failure).code !== 'SERVER_BUSY') failure = error
      }
    }
    throw failure
  }

  async #discover(issuer: string): Promise<JWTVerifyGetKey> {
    this.#discovered ??= discover(issuer)
    try {
      return await this.#discovered
    } catch (error) {
      // The next token tries again.
      this.#discovered = undefined
      throw error
    }
  }

  #keep(token: string, claims: JWTPayload): void {
    this.#forget(token)
    this.#keptCharacters += token.length
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size < KEPT_MAX && this.#keptCharacters <= KEPT_CHARACTERS_MAX) break
      this.#forget(oldest)
    }
    const untilMs = Math.min((claims.exp ?? 0) * 1000 + this.#config.leewayMs, Date.now() + KEPT_MS_MAX)
    this.#kept.set(token, { claims, untilMs })
  }

  #forget(token: string): void {
    if (this.#kept.delete(token)) this.#keptCharacters -= token.length
  }
}

/** OpenID Connect Discovery 1.0, 4. */
async function discover(issuer: string): Promise<JWTVerifyGetKey> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS_MAX), redirect: 'error' })
  if (!response.ok) throw new Error(`${url} was answered ${response.status}`)
  const { issuer: named, jwks_uri: jwksUrl } = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown }
  if (named !== issuer) throw new Error(`${url} is of the issuer ${String(named)}, not of ${issuer}`)
  if (typeof jwksUrl !== 'string' || objectionToTokens({ jwksUrl, audience: '', leewayMs: 0 }) !== undefined) {
    throw new Error(`${url} names no address of keys`)
  }
  return remoteKeys(jwksUrl)
}

function remoteKeys(url: string): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(url), { timeoutDuration: FETCH_MS_MAX })
}

/** PEM, a JWK, or a set of them. Throws a TypeError. */
function localKeys(text: string): JWTVerifyGetKey {
  try {
    if (!text.trimStart().startsWith('{')) {
      const key = createPublicKey(text)
      // Whether it is of the kind that the algorithm wants, jose asks.
      return async () => key
    }
    const parsed = JSON.parse(text) as Partial<JSONWebKeySet>
    return createLocalJWKSet(
      parsed.keys === undefined ? { keys: [parsed as JSONWebKeySet['keys'][0]] } : (parsed as JSONWebKeySet),
    )
  } catch (cause) {
    throw new TypeError('The public key of tokens is neither PEM nor a JWK nor a set of JWKs.', { cause })
  }
}

/** What the client need not know of a failure to fetch keys is in the cause. */
function refusalOf(error: unknown): FreshetError {
  if (error instanceof FreshetError) return error
  if (error instanceof errors.JWTExpired) return refused('it has expired', error)
  if (error instanceof errors.JWTClaimValidationFailed)
    return refused(`its claim ${error.claim} is not as it must be`, error)
  if (isOfFetching(error)) return keysMissing(error)
  if (error instanceof errors.JOSEError)
    return refused('its signature, algorithm or form is not one that is believed here', error)
  // Of a token that cannot be read at all, or a key of another kind, jose throws a TypeError.
  if (error instanceof TypeError) return refused('it is no token that is believed here', error)
  return keysMissing(error)
}

/** A set of keys did not come, or not as one. */
function isOfFetching(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return true
  if (error instanceof errors.JOSEError) return error.code === 'ERR_JOSE_GENERIC'
  return error instanceof TypeError && error.message === 'fetch failed'
}

function refused(reason: string, cause?: unknown): FreshetError {
  return new FreshetError('UNAUTHENTICATED', `The token is refused: ${reason}. Get a new one.`, {
    cause,
    details: { challenge: 'Bearer error="invalid_token"' },
  })
}

function keysMissing(cause: unknown): FreshetError {
  return new FreshetError(
    'SERVER_BUSY',
    'The keys that tokens are verified with cannot be had at the moment. Try again.',
    {
      cause,
      details: { retryAfterS: 2 },
    },
  )
}
