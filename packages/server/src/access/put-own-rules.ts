/**
 * Decides what happens to the rules that a server is started with. The rules in the store are the truth: a server writes its
 * own to the store only if the store has none. A server that was down while the rules were changed, and returns with an old
 * file, changes nothing.
 */
import { hostname } from 'node:os'
import type { Store } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import type { Log } from '../monitoring/log.js'
import { commitRules, recallRules } from './access-record.js'
import { type KnownRules, putBackRules } from './known-rules.js'

/**
 * What a server that was started without rules does with rules in the store. 'refuse': it does not start. 'use': it uses them,
 * if there are any. 'require': it uses them, and does not start if the store has none. 'ignore': it ignores them and lets every
 * caller do everything, for tools that only their user can reach.
 */
export type StoredRulesChoice = 'refuse' | 'use' | 'require' | 'ignore'

export interface OwnRules {
  readonly store: Store
  readonly log: Log
  /** The text of a rules file; undefined: the server was given none. */
  readonly rules: string | undefined
  /** Default: 'refuse'. */
  readonly storedRules?: StoredRulesChoice | undefined
  /** What an earlier process knew. If the store has lost these rules, they are put back first. */
  readonly known?: KnownRules | undefined
}

const ATTEMPTS_MAX = 20

/** Throws ACCESS_REQUIRED. */
export async function putOwnRules({ store, log, rules, storedRules = 'refuse', known }: OwnRules): Promise<void> {
  if (rules === undefined && storedRules === 'ignore') return
  const { text, isUnconfirmed } = await putBackRules(store, log, known)
  if (rules === undefined && storedRules === 'refuse') {
    if (text !== null) throw rulesWithheld()
    return
  }
  if (isUnconfirmed) throw rulesUnconfirmed()
  if (rules === undefined) {
    if (storedRules === 'require' && text === null) throw rulesMissing()
    return
  }
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const before = await recallRules(store)
    if (before.text === rules) return
    if (before.text !== null) {
      log.write('error', KEPT, { version: before.version })
      return
    }
    const by = { who: `${hostname()} (started with them)`, from: hostname() }
    if ((await commitRules(store, before, rules, by)) === undefined) continue
    log.write('info', 'audit', { what: 'rules', ...by, isOn: true })
    return
  }
  throw new Error('The rules could not be stored: other servers keep changing them.')
}

const KEPT =
  'the store has other access rules than the file that this server was started with, and those in the store stay in force: ' +
  'freshet rules diff FILE shows the difference, freshet rules apply FILE puts the file into force'

function rulesWithheld(): FreshetError {
  return new FreshetError(
    'ACCESS_REQUIRED',
    'The store has access rules, and this server was started without rules and without token keys. Give it the keys ' +
      '(FRESHET_TOKEN_SECRET, --token-public-key and the like), or --rules with them; in a program, pass access. If everybody ' +
      'may read and write everything, remove the rules for all servers over this store: freshet rules remove --widen. ' +
      '(ACCESS_REQUIRED)',
  )
}

function rulesUnconfirmed(): FreshetError {
  return new FreshetError(
    'ACCESS_REQUIRED',
    'The store was restored from a backup, or its folder was copied, so its access rules may be older than those that were ' +
      'last in force. Look at them with freshet rules show. Then confirm them (freshet rules confirm) or apply others (freshet ' +
      'rules apply FILE), each with --store URL or --data FOLDER. Until then, no server starts over this store. ' +
      '(ACCESS_REQUIRED)',
  )
}

function rulesMissing(): FreshetError {
  return new FreshetError(
    'ACCESS_REQUIRED',
    'The store has no access rules, and this server was given none, so everybody who reaches it could read and write ' +
      'everything. Name a rules file with --rules (docs/guides/access.md), or listen on 127.0.0.1. If something else keeps strangers ' +
      'out, pass --insecure. (ACCESS_REQUIRED)',
  )
}
