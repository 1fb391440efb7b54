/**
 * Puts the rules that a server is started with into the store: once for each start. What starts again by itself, such as a worker that has
 * crashed, does not: others may have been put there since.
 */
import { hostname } from 'node:os'
import type { Store } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import type { Log } from '../operations/log.js'
import { putRules, recallRules } from './access-record.js'

/**
 * What becomes of the rules that the store has, where a server is given none: it refuses to start; it removes them, for all servers over the
 * store; or it leaves them there and lets whoever reaches it do everything, which is for tools that nobody else reaches.
 */
export type StoredRulesChoice = 'refuse' | 'remove' | 'ignore'

export interface OwnRules {
  readonly store: Store
  readonly log: Log
  /** The text of a rules file; undefined: everybody may do everything. */
  readonly rules: string | undefined
  /** Refuse, unless given. */
  readonly storedRules?: StoredRulesChoice | undefined
}

/** Throws ACCESS_REQUIRED. */
export async function putOwnRules({ store, log, rules, storedRules = 'refuse' }: OwnRules): Promise<void> {
  if (rules === undefined && storedRules === 'ignore') return
  if (rules === undefined && storedRules === 'refuse') {
    const { text } = await recallRules(store)
    if (text !== null) throw rulesWithheld()
    return
  }
  const hasChanged = await putRules(store, rules ?? null, `${hostname()} (started with them)`)
  if (hasChanged) log.write('info', 'audit', { what: 'rules', who: hostname(), isOn: rules !== undefined })
}

function rulesWithheld(): FreshetError {
  return new FreshetError(
    'ACCESS_REQUIRED',
    'The store has access rules, and this server was given none, so that everybody could read and write everything. Name the file of ' +
      'rules with --rules (in a program: access), or say --insecure (storedRules: "remove"), which removes the rules for all servers ' +
      'over this store. (ACCESS_REQUIRED)',
  )
}
