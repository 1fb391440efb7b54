/**
 * The rules in effect, as the store has them: under a key that no request can name. A change of them is a commit, so every server over the
 * same data takes it at the same place of the log; and since copies that were handed out before may be nobody's business now, the
 * sketch begins anew there (`coherence/log-follower.ts`): no session trusts a copy from before it.
 */
import type { LogEntry, Store } from '@freshet/core/store'
import type { Key, Version } from '@freshet/protocol'
import { JSON_TYPE } from '../http/answer.js'
import { auditWrite } from './audit.js'

export const ACCESS_KEY: Key = '_freshet/access/rules'

/** Null: everybody may do everything. */
export type RulesText = string | null

const ATTEMPTS_MAX = 20

export interface StoredRules {
  readonly text: RulesText
  /** 0 if there never were any. */
  readonly version: Version
}

export async function recallRules(store: Store): Promise<StoredRules> {
  const value = await store.get(ACCESS_KEY)
  if (value === undefined) return { text: null, version: 0 }
  const { rules } = JSON.parse(new TextDecoder().decode(value.body)) as { rules: RulesText }
  return { text: rules, version: value.version }
}

/** Makes these the rules, unless they are. Says whether they were others; `who` is for the audit. */
export async function putRules(store: Store, rules: RulesText, who: string): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const { text: before, version } = await recallRules(store)
    // Where there never were any, there is nothing to take back.
    if (before === rules) return false
    const audit = auditWrite({ who, what: 'rules', before, after: rules }, store.nowMs())
    const { committed } = await store.commit({
      reads: [{ key: ACCESS_KEY, version }],
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
