import type { Key } from '@freshet/protocol'
import type { Caller } from '../access/caller.js'
import { namespaceOf } from '../access/quotas/usage-record.js'
import type { Claimant } from '../idempotency/idempotency.js'

/** The claimant for a write of these keys. `might`: whether the rules could let the caller do it, whatever is stored now. */
export function claimantOf(
  caller: Caller | undefined,
  written: readonly Key[],
  might: (caller: Caller) => boolean,
): Claimant {
  return {
    namespaces: () => written.map(namespaceOf),
    refusal: () => (caller === undefined || might(caller) ? undefined : caller.refusal()),
  }
}
