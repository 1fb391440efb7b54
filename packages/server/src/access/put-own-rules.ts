/**
 * Puts the rules that a server is started with into the store: once for each start. What starts again by itself, such as a worker that has
 * crashed, does not: others may have been put there since.
 */
import { hostname } from 'node:os'
import type { Store } from '@freshet/core/store'
import type { Log } from '../operations/log.js'
import { putRules } from './access-record.js'

export interface OwnRules {
  readonly store: Store
  readonly log: Log
  /** The text of a rules file; undefined: everybody may do everything. */
  readonly rules: string | undefined
}

export async function putOwnRules({ store, log, rules }: OwnRules): Promise<void> {
  const hasChanged = await putRules(store, rules ?? null, `${hostname()} (started with them)`)
  if (hasChanged) log.write('info', 'audit', { what: 'rules', who: hostname(), isOn: rules !== undefined })
}
