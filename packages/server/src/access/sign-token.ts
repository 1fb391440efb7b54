/** Makes tokens, for development and for services; shows what a token contains. */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose'
import type { Claims } from './rules/decision.js'

export interface SignOptions {
  readonly claims: Claims
  readonly audience: string
  readonly issuer?: string | undefined
  readonly expiresMs: number
  /** HS256. */
  readonly secret?: string | undefined
  /** A private key as PEM: RS256, ES256 or EdDSA, depending on its type. */
  readonly privateKey?: string | undefined
}

/** Throws a TypeError if the key cannot be used. */
export async function signToken({
  claims,
  audience,
  issuer,
  expiresMs,
  secret,
  privateKey,
}: SignOptions): Promise<string> {
  const key = privateKey === undefined ? new TextEncoder().encode(secret) : createPrivateKey(privateKey)
  const alg = key instanceof Uint8Array ? 'HS256' : algorithmOf(key)
  const token = new SignJWT({ ...claims, aud: audience, ...(issuer === undefined ? {} : { iss: issuer }) })
    .setProtectedHeader({ alg })
    .setIssuedAt()
    .setExpirationTime(Math.floor((Date.now() + expiresMs) / 1000))
  return token.sign(key)
}

/** Does not verify the token. Throws a TypeError or an error of jose if the text is not a token. */
export function readToken(token: string): { readonly header: object; readonly claims: Claims } {
  return { header: decodeProtectedHeader(token), claims: decodeJwt(token) }
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string {
  if (asymmetricKeyType === 'rsa') return 'RS256'
  if (asymmetricKeyType === 'ed25519') return 'EdDSA'
  if (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256'
  throw new TypeError('Tokens can be signed with an RSA, P-256 or Ed25519 key.')
}
