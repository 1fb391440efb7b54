/**
 * Verifies bearer tokens (RFC 6750): JWTs, by `jose` (docs/decisions/0018). The token's algorithm decides which key may verify
 * it, before the signature is checked, and a key never serves two algorithms. So a public key is never taken for a secret, and
 * `none` finds no key at all.
 *
 * A token is verified once. The result is kept under the token itself, until it expires or for a few minutes. For that long, a
 * withdrawn key is still accepted. Nothing is kept of a token that is refused.
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
/** For all tokens together. */
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
  /** Local keys first, then those that must be fetched. */
  readonly #keys: (() => JWTVerifyGetKey | Promise<JWTVerifyGetKey>)[]
  #discovered: Promise<JWTVerifyGetKey> | undefined
  /** In the order of insertion: the oldest goes first. */
  readonly #kept = new Map<string, Kept>()
  #keptCharacters = 0
  readonly #underWay = new Map<string, Promise<Claims>>()
  /** How many signatures were checked. */
  verifications = 0

  /** Throws a TypeError if the configuration is invalid. */
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

  /** The claims of a token that was verified recently; undefined for any other. */
  recall(token: string): Claims | undefined {
    const kept = this.#kept.get(token)
    return kept !== undefined && Date.now() < kept.untilMs ? kept.claims : undefined
  }

  /** The claims of a token. Throws UNAUTHENTICATED, or SERVER_BUSY if the keys cannot be fetched at the moment. */
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
        // The signature is good, so no other key can change the result.
        if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed) throw error
        // The token may be signed with one of the keys that could not be fetched.
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
      // The next token starts discovery again.
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
  if (named !== issuer) throw new Error(`${url} belongs to the issuer ${String(named)}, not to ${issuer}`)
  if (typeof jwksUrl !== 'string' || objectionToTokens({ jwksUrl, audience: '', leewayMs: 0 }) !== undefined) {
    throw new Error(`${url} does not say where the keys are`)
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
      // jose checks that the key's type fits the algorithm.
      return async () => key
    }
    const parsed = JSON.parse(text) as Partial<JSONWebKeySet>
    return createLocalJWKSet(
      parsed.keys === undefined ? { keys: [parsed as JSONWebKeySet['keys'][0]] } : (parsed as JSONWebKeySet),
    )
  } catch (cause) {
    throw new TypeError('The public key for tokens is not PEM, a JWK or a set of JWKs.', { cause })
  }
}

/** Details of a failure to fetch keys, which the client does not need, are in the cause. */
function refusalOf(error: unknown): FreshetError {
  if (error instanceof FreshetError) return error
  if (error instanceof errors.JWTExpired) return refused('it has expired', error)
  if (error instanceof errors.JWTClaimValidationFailed)
    return refused(`its claim ${error.claim} is not as it must be`, error)
  if (isOfFetching(error)) return keysMissing(error)
  if (error instanceof errors.JOSEError) return refused('its signature, algorithm or form is not accepted here', error)
  // jose throws a TypeError for a token that cannot be read at all, and for a key of another type.
  if (error instanceof TypeError) return refused('it is not a token that is accepted here', error)
  return keysMissing(error)
}

/** Whether fetching a set of keys failed, or returned something else. */
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
  return new FreshetError('SERVER_BUSY', 'The keys for verifying tokens cannot be fetched at the moment. Try again.', {
    cause,
    details: { retryAfterS: 2 },
  })
}
