/**
 * The rules that a server knew to be in force, kept outside of the store. A store that is restored from a backup has older
 * rules, which may allow more. They must not open again what was closed since, so a server that knows newer rules puts them
 * into force again.
 *
 * Versions only grow, and positions continue from the time of day when a store is restored. So of two sets of rules, the older
 * one is the one that a person put into force at the lower version (`since`). Writing rules again does not make them newer.
 */
import { hostname } from 'node:os'
import type { Store } from '@freshet/core/store'
import type { Log } from '../monitoring/log.js'
import { commitRules, recallRules, type StoredRules } from './access-record.js'

export interface KnownRules extends Omit<StoredRules, 'isUnconfirmed'> {
  /** The id of the log that they were read from. */
  readonly log: string
}

/** Keeps what this server knows of the rules for the next process. */
export interface RulesMemory {
  /** What an earlier process knew; undefined if there was no earlier process. */
  readonly known: KnownRules | undefined
  /** Called with the rules in force when the server starts, which waits for it, and after each change. Does not throw. */
  note(rules: KnownRules): Promise<void>
}

/** Returns the rules that the store has now. */
export async function putBackRules(store: Store, log: Log, known: KnownRules | undefined): Promise<StoredRules> {
  for (;;) {
    const found = await recallRules(store)
    if (known === undefined || found.since >= known.since) {
      if (known !== undefined && isDoubtful(found, known, store.log)) {
        log.write('error', DOUBTFUL, { version: found.version })
      }
      return found
    }
    const by = { who: `${hostname()} (the store had lost them)`, from: hostname() }
    const version = await commitRules(store, found, known.text, by, known.since)
    if (version === undefined) continue
    log.write('error', PUT_BACK, { version })
    return { text: known.text, version, since: known.since, isUnconfirmed: false }
  }
}

/** Either the rules were changed while this server was stopped, or another store was copied into this one. */
function isDoubtful(found: StoredRules, known: KnownRules, log: string): boolean {
  return found.since > known.since && log !== known.log && found.text !== known.text && !found.isUnconfirmed
}

const PUT_BACK =
  'the store had older access rules than this server knew, so it was restored from a backup: the newer rules are in force ' +
  'again. To use others: freshet rules apply FILE'

const DOUBTFUL =
  'the store has another log and other access rules than this server knew. The rules in the store are in force. If the store ' +
  'was copied from an older one, its rules may be out of date: freshet rules diff FILE shows the difference, freshet rules ' +
  'apply FILE puts the file into force'
