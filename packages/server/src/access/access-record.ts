/**
 * The rules in force, as the store has them, under a key that no request can name. A change of the rules is a commit, so every
 * server over the same data applies it at the same position of the log. Copies that were handed out before may be private now,
 * so the sketch begins again there (`coherence/log-follower.ts`): no session trusts a copy from before the change.
 */
import { COPIED_MEMORY, type LogEntry, type Position, type Store } from '@freshet/core/store'
import type { Key, Version } from '@freshet/protocol'
import { JSON_TYPE } from '../http/answer.js'
import { type Audited, auditWrite } from './audit.js'

export const ACCESS_KEY: Key = '_freshet/access/rules'

/** Null: everybody may do everything. */
export type RulesText = string | null

export interface StoredRules {
  readonly text: RulesText
  /** 0 if the store never had any rules. */
  readonly version: Version
  /**
   * The version that a person put into force. It is older than `version` if the same rules were written again: put back by a
   * server, or restored from a backup.
   */
  readonly since: Version
  /** The rules came with a backup or a copy, so newer ones may be lost. They allow nothing until an operator confirms them. */
  readonly isUnconfirmed: boolean
}

/** What is stored. */
interface RulesRecord {
  readonly rules: RulesText
  /** Absent: the version of the record itself. */
  readonly since?: Version
  readonly isUnconfirmed?: boolean
}

export async function recallRules(store: Store): Promise<StoredRules> {
  const [value, copied] = await Promise.all([store.get(ACCESS_KEY), store.recall(COPIED_MEMORY)])
  const copiedTo = copied === undefined ? -1 : Number(textIn(copied))
  const { version, body } = value ?? { version: 0, body: encodeRecord({ rules: null }) }
  const { rules, since = version, isUnconfirmed = false } = JSON.parse(textIn(body)) as RulesRecord
  return { text: rules, version, since, isUnconfirmed: isUnconfirmed || version <= copiedTo }
}

/** The body of the record as it is restored from a backup that was taken at this position. Undefined: the backup has no rules. */
export function restoredRules(body: Uint8Array | undefined, position: Position): Uint8Array {
  const record = body === undefined ? { rules: null } : (JSON.parse(textIn(body)) as RulesRecord)
  return encodeRecord({ since: position, ...record, isUnconfirmed: true })
}

function encodeRecord(record: RulesRecord): Uint8Array {
  return Buffer.from(JSON.stringify(record))
}

function textIn(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

/**
 * Replaces the rules if they are still those in `before`. `since`: for rules that were already in force at an earlier version.
 * Returns the new version, or undefined if the rules in the store have changed.
 */
export async function commitRules(
  store: Store,
  before: StoredRules,
  rules: RulesText,
  by: Pick<Audited, 'who' | 'from'>,
  since?: Version,
): Promise<Version | undefined> {
  const audit = auditWrite({ who: by.who, from: by.from, what: 'rules', before: before.text, after: rules })
  const body = encodeRecord({ rules, ...(since === undefined ? {} : { since }) })
  const result = await store.commit({
    reads: [{ key: ACCESS_KEY, version: before.version }],
    writes: [{ key: ACCESS_KEY, contentType: JSON_TYPE, body }, audit],
  })
  return result.committed ? result.position : undefined
}

/** The index of the last of these commits that changed the rules; -1 if none did. */
export function lastRulesChange(entries: readonly LogEntry[]): number {
  return entries.findLastIndex(({ keys }) => keys.includes(ACCESS_KEY))
}
