/**
 * Who a token is of, as a text of fixed length: the same for every token that an issuer makes for one subject. A token without a
 * subject is of those that carry the same claims, apart from those that differ with each token.
 */
import { hash } from 'node:crypto'
import type { Claims } from './rules/decision.js'

/** They say when and how a token was made, not for whom. */
const OF_THE_TOKEN = new Set(['exp', 'iat', 'nbf', 'jti', 'auth_time'])
/** 132 bits: no two callers have the same, however many try. */
const IDENTITY_LENGTH = 22

/** Empty for callers without a token: they are all one. */
export function identityOf(claims: Claims | undefined): string {
  if (claims === undefined) return ''
  const { iss = null, sub } = claims
  const hasSubject = sub !== undefined && sub !== null && sub !== ''
  const lasting = Object.entries(claims).filter(([name]) => !OF_THE_TOKEN.has(name))
  const who = hasSubject ? ['subject', iss, sub] : ['claims', Object.fromEntries(lasting)]
  return hash('sha256', JSON.stringify(who, inOrder), 'base64url').slice(0, IDENTITY_LENGTH)
}

/** The order of members does not matter, and issuers do not keep to one. */
function inOrder(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
