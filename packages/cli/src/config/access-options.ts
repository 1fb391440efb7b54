/** Options that decide who may do what. */
import { TOKEN_AUDIENCE, TOKEN_LEEWAY_MS } from '@freshet/server/configuration'
import { KEY_FILE, NONE, RULES } from './file-kinds.js'
import { both, type Option } from './option.js'
import { durationFrom, NETWORKS, type OptionValue, rateFrom, SWITCH, TEXT } from './value-kinds.js'

export interface AccessSettings {
  /** The text of a rules file, or 'none'. */
  readonly rules: string
  readonly insecure: boolean
  readonly tokenSecret: string
  readonly tokenPublicKey: string
  readonly tokenJwksUrl: string
  readonly tokenOidcIssuer: string
  readonly tokenIssuer: string
  readonly tokenAudience: string
  readonly tokenLeewayMs: number
  readonly limitPerAddress: number
  readonly limitPerSubject: number
  readonly limitBurstMs: number
  readonly trustedProxies: readonly string[]
}

const SECRET_TEXT = { ...TEXT, show: (secret: string) => (secret === NONE ? NONE : 'set') }
const ADDRESS = { ...TEXT, placeholder: 'URL', wants: 'an address, or none' }

type AccessOptions = { readonly [Name in keyof AccessSettings]: Option<AccessSettings[Name] & OptionValue> }

export const ACCESS_OPTIONS: AccessOptions = {
  rules: {
    about: 'access rules, for a store that has none: docs/guides/access.md',
    kind: RULES,
    defaults: both(NONE),
    isCommon: true,
  },
  insecure: {
    about: 'serve everyone without rules, even beyond this machine',
    kind: SWITCH,
    defaults: both(false),
    isCommon: true,
  },
  tokenSecret: {
    about: 'the secret that signs HS256 tokens; better set FRESHET_TOKEN_SECRET_FILE',
    kind: SECRET_TEXT,
    defaults: both(NONE),
  },
  tokenPublicKey: {
    about: 'the public key of RS256, ES256 or EdDSA tokens: PEM, a JWK or a set of JWKs',
    kind: KEY_FILE,
    defaults: both(NONE),
  },
  tokenJwksUrl: { about: 'the address of a set of such keys', kind: ADDRESS, defaults: both(NONE) },
  tokenOidcIssuer: {
    about: 'the issuer whose tokens are accepted: its keys are found by OpenID discovery',
    kind: ADDRESS,
    defaults: both(NONE),
  },
  tokenIssuer: { about: 'the iss that tokens must have', kind: TEXT, defaults: both(NONE) },
  tokenAudience: { about: 'the aud that tokens must have', kind: TEXT, defaults: both(TOKEN_AUDIENCE) },
  tokenLeewayMs: { about: 'how far clocks may differ', kind: durationFrom(0), defaults: both(TOKEN_LEEWAY_MS) },
  limitPerAddress: {
    about: 'requests a second from one address, over time, per worker; 0 for no limit',
    kind: rateFrom(0),
    defaults: both(0),
  },
  limitPerSubject: {
    about: 'the same, for tokens of one subject',
    kind: rateFrom(0),
    defaults: both(0),
  },
  limitBurstMs: {
    about: 'how much of this rate may arrive at once, as a time',
    kind: durationFrom(1000),
    defaults: both(10_000),
  },
  trustedProxies: {
    about: 'addresses and networks whose X-Forwarded-For is trusted',
    kind: NETWORKS,
    defaults: both([]),
  },
}
