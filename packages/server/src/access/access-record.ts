/**
 * The rules in force, as the store has them: under a key that no request can name. A change of them is a commit, so every server over the
 * same data takes it at the same place of the log. Copies that were handed out before may be private now, so the sketch begins
 * again there (`coherence/log-follower.ts`): no session trusts a copy from before it.
 */
import type { LogEntry, Store } from '@freshet/core/store'
import type { Key, Version } from '@freshet/protocol'
import { JSON_TYPE } from '../http/answer.js'
import { type Audited, auditWrite } from './audit.js'

export const ACCESS_KEY: Key = '_freshet/access/rules'

/** Null: everybody may do everything. */
export type RulesText = string | null

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

/** Replaces the rules, if they are still those before. Returns the new version; undefined if they are not. */
export async function commitRules(
  store: Store,
  before: StoredRules,
  rules: RulesText,
  by: Pick<Audited, 'who' | 'from'>,
): Promise<Version | undefined> {
  const audit = auditWrite({ who: by.who, from: by.from, what: 'rules', before: before.text, after: rules })
  const result = await store.commit({
    reads: [{ key: ACCESS_KEY, version: before.version }],
    writes: [{ key: ACCESS_KEY, contentType: JSON_TYPE, body: Buffer.from(JSON.stringify({ rules })) }, audit],
  })
  return result.committed ? result.position : undefined
}

/** The last of these commits that changed the rules. */
export function lastRulesChange(entries: readonly LogEntry[]): number {
  return entries.findLastIndex(({ keys }) => keys.includes(ACCESS_KEY))
}
