/** Which tokens are accepted: JWTs (RFC 7519) signed with one of these keys, for this audience. */
export interface TokenConfig {
  /** HS256; at least 32 bytes. */
  readonly secret?: string
  /** RS256, ES256 or EdDSA: a public key as PEM, or a JWK or a set of them as JSON. */
  readonly publicKey?: string
  /** The URL of a set of public keys. */
  readonly jwksUrl?: string
  /** The issuer's keys are found by OpenID discovery, and its tokens must name it as `iss`. */
  readonly oidcIssuer?: string
  /** The `iss` that tokens must have, if it is not `oidcIssuer`. */
  readonly issuer?: string
  /** The value that the `aud` of tokens must be or contain. */
  readonly audience: string
  /** How far apart clocks may be. */
  readonly leewayMs: number
}

const SECRET_BYTES_MIN = 32

export const TOKEN_AUDIENCE = 'freshet'
export const TOKEN_LEEWAY_MS = 10_000

/** What is wrong with the configuration, in words that follow the name of the option; undefined if it is valid. */
export function objectionToTokens({ secret, jwksUrl, oidcIssuer, issuer }: TokenConfig): string | undefined {
  if (secret !== undefined && Buffer.byteLength(secret) < SECRET_BYTES_MIN) {
    return (
      `The token secret has ${Buffer.byteLength(secret)} bytes. It needs at least ${SECRET_BYTES_MIN}: openssl rand ` +
      '-base64 32'
    )
  }
  for (const url of [jwksUrl, oidcIssuer]) {
    if (url !== undefined && !isSafeUrl(url))
      return `Keys cannot be fetched from ${url}: the address must be https, or on this machine.`
  }
  if (oidcIssuer !== undefined && issuer !== undefined && issuer !== oidcIssuer) {
    return 'Tokens of an OpenID issuer name that issuer; leave the other one out.'
  }
  return undefined
}

/** Keys that arrive over an unprotected connection could be anybody's. */
function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  if (protocol === 'https:') return true
  return protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}
