/**
 * Puts other rules into force, for all servers over the store: in one commit, which requires the version of the rules that the
 * caller has seen. Rules that allow more than those before, and rules that would lock out the admin who applies them, are
 * refused unless the caller says that this is intended.
 */
import type { Store } from '@freshet/core/store'
import { FreshetError, type Version } from '@freshet/protocol'
import { commitRules, type RulesText, recallRules } from './access-record.js'
import { AccessRules } from './rules/access-rules.js'
import type { Claims } from './rules/decision.js'
import { parseRules } from './rules/parse-rules.js'
import { readRules } from './rules/read-rules.js'
import { type Widening, wideningsOf } from './rules/widening.js'

export interface RulesChange {
  /** Null: everybody may do everything. */
  readonly rules: RulesText
  /** The version of the rules that these replace, 0 if there were never any; undefined: whichever is in force. */
  readonly ifVersion?: Version
  /** Whether they may allow more than those before. */
  readonly mayWiden?: boolean
  /** For the audit. */
  readonly who: string
  readonly from?: string
  /** The caller's claims, which must be an admin's by both the replaced and the new rules. Undefined: no caller is checked. */
  readonly claims?: Claims | undefined
}

export interface RulesApplied {
  readonly version: Version
  /** False: these rules were already in force, and confirmed. */
  readonly hasChanged: boolean
  readonly wider: readonly Widening[]
}

/** Throws FORBIDDEN, RULES_INVALID, RULES_WIDEN, RULES_LOCK_OUT, VERSION_CONFLICT. */
export async function applyRules(store: Store, change: RulesChange): Promise<RulesApplied> {
  const { rules, ifVersion, mayWiden, who, from = '', claims } = change
  const before = await recallRules(store)
  const inForce = parsedOf(before.text)
  // A server may not know yet that these claims are no longer an admin's.
  if (claims !== undefined && inForce !== undefined && !new AccessRules(inForce).isAdmin(claims)) throw notAdmin()
  const parsed = rules === null ? undefined : readRules(rules)
  if (before.text === rules && !before.isUnconfirmed) return { version: before.version, hasChanged: false, wider: [] }
  if (ifVersion !== undefined && before.version !== ifVersion) throw changedMeanwhile(before.version)
  const wider = wideningsOf(inForce, parsed)
  if (wider.length > 0 && !mayWiden) throw widens(wider)
  if (parsed !== undefined && claims !== undefined && !new AccessRules(parsed).isAdmin(claims)) throw locksOut()
  const version = await commitRules(store, before, rules, { who, from })
  if (version === undefined) throw changedMeanwhile((await recallRules(store)).version)
  return { version, hasChanged: true, wider }
}

/** Text that cannot be parsed, such as the rules of a newer Freshet, allows nothing. */
function parsedOf(text: RulesText) {
  if (text === null) return undefined
  return parseRules(text).rules ?? parseRules('').rules
}

function notAdmin(): FreshetError {
  return new FreshetError('FORBIDDEN', 'The rules of this server do not let the bearer of this token do this.')
}

function changedMeanwhile(version: Version): FreshetError {
  return new FreshetError(
    'VERSION_CONFLICT',
    `The rules have changed: version ${version} is in force now. Review the difference again, and apply yours to that version.`,
    { details: { version } },
  )
}

function widens(wider: readonly Widening[]): FreshetError {
  return new FreshetError(
    'RULES_WIDEN',
    `These rules allow more than those in force: ${wider.map(textOf).join('; ')}. If you mean it, pass --widen, or "widen": ` +
      'true.',
    { details: { wider } },
  )
}

function textOf({ what, rights }: Widening): string {
  return rights === undefined ? what : `${what} (${rights.join(', ')})`
}

function locksOut(): FreshetError {
  return new FreshetError(
    'RULES_LOCK_OUT',
    'By these rules, the token that applies them would no longer be an admin. Use a token that would be, or apply the rules ' +
      'to the store itself: freshet rules apply FILE --store URL, or --data FOLDER while its server is stopped.',
  )
}
