/**
 * Identifies the bearer of a token by a text of fixed length, the same for every token that an issuer makes for one subject.
 * Tokens without a subject have the same bearer if their claims are the same, apart from those that differ with each token.
 */
import { hash } from 'node:crypto'
import type { Claims } from './rules/decision.js'

/** These claims say when and how a token was made, not for whom. */
const OF_THE_TOKEN = new Set(['exp', 'iat', 'nbf', 'jti', 'auth_time'])
/** 132 bits: no two callers collide, however many there are. */
const IDENTITY_LENGTH = 22

/** Empty for callers without a token: they all count as the same caller. */
export function identityOf(claims: Claims | undefined): string {
  if (claims === undefined) return ''
  const { iss = null, sub } = claims
  const hasSubject = sub !== undefined && sub !== null && sub !== ''
  const lasting = Object.entries(claims).filter(([name]) => !OF_THE_TOKEN.has(name))
  const who = hasSubject ? ['subject', iss, sub] : ['claims', Object.fromEntries(lasting)]
  return hash('sha256', JSON.stringify(who, inOrder), 'base64url').slice(0, IDENTITY_LENGTH)
}

/** Issuers do not keep to one order of members, so the order must not matter. */
function inOrder(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
