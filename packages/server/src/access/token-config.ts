/** Whose tokens are believed: JWTs (RFC 7519) signed with one of these keys, for this audience. */
export interface TokenConfig {
  /** HS256; at least 32 bytes. */
  readonly secret?: string
  /** RS256, ES256 or EdDSA: a public key as PEM, or a JWK or a set of them as JSON. */
  readonly publicKey?: string
  /** Where a set of public keys is kept. */
  readonly jwksUrl?: string
  /** Its keys are found by OpenID discovery, and its tokens must name it as `iss`. */
  readonly oidcIssuer?: string
  /** What tokens must have as `iss`, where it is not `oidcIssuer`. */
  readonly issuer?: string
  /** What tokens must have as, or among, `aud`. */
  readonly audience: string
  /** How far clocks may be apart. */
  readonly leewayMs: number
}

const SECRET_BYTES_MIN = 32

export const TOKEN_AUDIENCE = 'freshet'
export const TOKEN_LEEWAY_MS = 10_000

/** What is wrong with it, in words that follow a name of the option; none if it will do. */
export function objectionToTokens({ secret, jwksUrl, oidcIssuer, issuer }: TokenConfig): string | undefined {
  if (secret !== undefined && Buffer.byteLength(secret) < SECRET_BYTES_MIN) {
    return `The secret of tokens has ${Buffer.byteLength(secret)} bytes. It needs ${SECRET_BYTES_MIN}: openssl rand -base64 32`
  }
  for (const url of [jwksUrl, oidcIssuer]) {
    if (url !== undefined && !isSafeUrl(url))
      return `${url} is no address to fetch keys from: it must be https, or on this machine.`
  }
  if (oidcIssuer !== undefined && issuer !== undefined && issuer !== oidcIssuer) {
    return 'Tokens of an OpenID issuer name that issuer; leave the other one out.'
  }
  return undefined
}

/** Keys that come over a line that anybody may write to are nobody's. */
function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  if (protocol === 'https:') return true
  return protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}
