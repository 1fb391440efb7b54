/** The access part of the configuration, in the form that the server takes. */
import { isIP } from 'node:net'
import { FreshetError } from '@freshet/protocol'
import type { AccessConfig, RateLimitConfig, StoredRulesChoice } from '@freshet/server'
import { objectionToTokens, type TokenConfig } from '@freshet/server/configuration'
import type { AccessSettings } from '../config/access-options.js'
import { NONE } from '../config/file-kinds.js'

export interface AccessSetup {
  readonly access?: AccessConfig
  readonly storedRules: StoredRulesChoice
  readonly limits?: RateLimitConfig
  readonly trustedProxies: readonly string[]
}

/** Throws ACCESS_REQUIRED, or CONFIG_INVALID if the token keys contradict each other. */
export function checkAccess(config: AccessSettings & { readonly host: string }): void {
  const objection = objectionToTokens(tokensOf(config))
  if (objection !== undefined) throw new FreshetError('CONFIG_INVALID', objection)
  if (config.rules !== NONE || config.insecure || hasKeys(config) || isLoopback(config.host)) return
  throw new FreshetError(
    'ACCESS_REQUIRED',
    `There are no access rules and no token keys, so any machine that reaches ${config.host} could read and write everything. ` +
      'Name a rules file with --rules (docs/guides/access.md), listen at 127.0.0.1, or pass --insecure if a firewall or proxy keeps strangers out. ' +
      '(ACCESS_REQUIRED)',
  )
}

export function accessOf(config: AccessSettings & { readonly host: string }): AccessSetup {
  const { rules, limitPerAddress, limitPerSubject, limitBurstMs, trustedProxies } = config
  const isLimited = limitPerAddress > 0 || limitPerSubject > 0
  return {
    storedRules: storedRulesChoice(config),
    trustedProxies,
    ...(rules === NONE && !usesStoredRules(config)
      ? {}
      : { access: { rules: rules === NONE ? undefined : rules, tokens: tokensOf(config) } }),
    ...(isLimited
      ? {
          limits: {
            perAddressPerS: limitPerAddress,
            perSubjectPerS: limitPerSubject,
            burstS: limitBurstMs / 1000,
          },
        }
      : {}),
  }
}

export function tokensOf(config: AccessSettings): TokenConfig {
  const { tokenSecret, tokenPublicKey, tokenJwksUrl, tokenOidcIssuer, tokenIssuer } = config
  return {
    ...(tokenSecret === NONE ? {} : { secret: tokenSecret }),
    ...(tokenPublicKey === NONE ? {} : { publicKey: tokenPublicKey }),
    ...(tokenJwksUrl === NONE ? {} : { jwksUrl: tokenJwksUrl }),
    ...(tokenOidcIssuer === NONE ? {} : { oidcIssuer: tokenOidcIssuer }),
    ...(tokenIssuer === NONE ? {} : { issuer: tokenIssuer }),
    audience: config.tokenAudience,
    leewayMs: config.tokenLeewayMs,
  }
}

/** A server with token keys and no rules file uses the rules in the store. */
function usesStoredRules(config: AccessSettings): boolean {
  return config.rules === NONE && hasKeys(config)
}

function storedRulesChoice(config: AccessSettings & { readonly host: string }): StoredRulesChoice {
  if (!usesStoredRules(config)) return 'refuse'
  return config.insecure || isLoopback(config.host) ? 'use' : 'require'
}

function hasKeys({ tokenSecret, tokenPublicKey, tokenJwksUrl, tokenOidcIssuer }: AccessSettings): boolean {
  return [tokenSecret, tokenPublicKey, tokenJwksUrl, tokenOidcIssuer].some(key => key !== NONE)
}

function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.')
  return host === 'localhost' || host === '::1'
}
