/**
 * The rules in effect, as the store has them: under a key that no request can name. A change of them is a commit, so every server over the
 * same data takes it at the same place of the log; and since copies that were handed out before may be nobody's business now, the
 * sketch begins anew there (`coherence/log-follower.ts`): no session trusts a copy from before it.
 */
import type { LogEntry, Store } from '@freshet/core/store'
import type { Key } from '@freshet/protocol'
import { JSON_TYPE } from '../http/answer.js'
import { auditWrite } from './audit.js'

export const ACCESS_KEY: Key = '_freshet/access/rules'

/** Null: everybody may do everything. */
export type RulesText = string | null

const ATTEMPTS_MAX = 20

export async function recallRules(store: Store): Promise<RulesText | undefined> {
  const value = await store.get(ACCESS_KEY)
  return value && (JSON.parse(new TextDecoder().decode(value.body)) as { rules: RulesText }).rules
}

/** Makes these the rules, unless they are. Says whether they were others; `who` is for the audit. */
export async function putRules(store: Store, rules: RulesText, who: string): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const known = await store.get(ACCESS_KEY)
    const before = known && (JSON.parse(new TextDecoder().decode(known.body)) as { rules: RulesText }).rules
    // Where there never were any, there is nothing to take back.
    if ((before ?? null) === rules) return false
    const audit = auditWrite({ who, what: 'rules', before: before ?? null, after: rules }, store.nowMs())
    const { committed } = await store.commit({
      reads: [{ key: ACCESS_KEY, version: known?.version ?? 0 }],
      writes: [{ key: ACCESS_KEY, contentType: JSON_TYPE, body: Buffer.from(JSON.stringify({ rules })) }, audit],
    })
    if (committed) return true
  }
  throw new Error('The rules could not be stored: others change them all the time.')
}

/** The last of these commits that changed the rules. */
export function lastRulesChange(entries: readonly LogEntry[]): number {
  return entries.findLastIndex(({ keys }) => keys.includes(ACCESS_KEY))
}
