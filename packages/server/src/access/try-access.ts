/**
 * `POST /access/try`: what a caller with these claims may do with an object, by the rules in effect or by rules that are only
 * being considered. It reports and changes nothing, and does not create a token.
 */
import type { Store } from '@freshet/core/store'
import { checkId, checkName, FreshetError, type Key } from '@freshet/protocol'
import { AccessRules } from './rules/access-rules.js'
import { checkExamples } from './rules/check-examples.js'
import type { Claims } from './rules/decision.js'
import { parseRules } from './rules/parse-rules.js'
import { RIGHTS, type Right } from './rules/rights.js'
import type { RulesMistake } from './rules/rules-mistake.js'

export interface TriedAccess {
  /** The mistakes of the rules that were sent. If there are any, nothing else is returned. */
  readonly mistakes?: readonly RulesMistake[]
  readonly isAdmin?: boolean
  /** Whether the object exists. If it does not, rules that look at it allow nothing. */
  readonly isThere?: boolean
  readonly rights?: Readonly<Record<Right, boolean>>
}

interface Asked {
  readonly claims: Claims | undefined
  readonly key: Key
  readonly next: unknown
  readonly rules: string | undefined
}

/** Throws BODY_INVALID, NAME_INVALID. `inEffect` undefined: everybody may do everything. */
export async function tryAccess(store: Store, body: string, inEffect: AccessRules | undefined): Promise<TriedAccess> {
  const { claims, key, next, rules: text } = readAsked(body)
  let rules = inEffect
  if (text !== undefined) {
    const { rules: parsed, mistakes } = parseRules(text)
    const wrong = parsed === undefined ? mistakes : checkExamples(parsed)
    if (parsed === undefined || wrong.length > 0) return { mistakes: wrong }
    rules = new AccessRules(parsed)
  }
  const found = await store.get(key)
  const object = found && jsonOf(found.contentType, found.body)
  const allows = (right: Right) =>
    rules === undefined || rules.allows(right, claims, key, { object, next: next ?? object })
  return {
    isAdmin: rules === undefined || rules.isAdmin(claims),
    isThere: found !== undefined,
    rights: Object.fromEntries(RIGHTS.map(right => [right, allows(right)])) as Record<Right, boolean>,
  }
}

function readAsked(body: string): Asked {
  const { claims, path, new: next, rules, ...others } = JSON.parse(body) as Record<string, unknown>
  const isText = rules === undefined || typeof rules === 'string'
  const isClaims = claims === null || (typeof claims === 'object' && !Array.isArray(claims))
  if (Object.keys(others).length > 0 || typeof path !== 'string' || !isText || !isClaims) {
    throw new FreshetError(
      'BODY_INVALID',
      'Send {"claims":{...} or null,"path":"shop/orders/7"}. Optional: "new", the object as it would be, and "rules", to be ' +
        'tried instead of those in effect.',
    )
  }
  const [namespace = '', bucket = '', ...rest] = path.split('/')
  checkName('namespace', namespace)
  checkName('bucket', bucket)
  const id = rest.join('/')
  if (rest.length > 0) checkId(id)
  const key = rest.length === 0 ? `${namespace}/${bucket}` : `${namespace}/${bucket}/${id}`
  return { claims: (claims ?? undefined) as Claims | undefined, key, next, rules }
}

function jsonOf(contentType: string, body: Uint8Array): unknown {
  if (!/^application\/json\b/.test(contentType)) return undefined
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    return undefined
  }
}
