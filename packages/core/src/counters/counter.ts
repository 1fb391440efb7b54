/** Additions to counters, decided: what each comes to, or which bound stands in the way. */
import type { Addition, CounterRefusal } from '../store/index.js'
import { formatUnits, parseUnits } from './decimal.js'

export type Added = { readonly units: number; readonly body: Uint8Array } | CounterRefusal

export const COUNTER_TYPE = 'application/json'

/** `body`: what is there; undefined if nothing is. */
export function addTo({ key, by, decimals, min, max }: Addition, body: Uint8Array | undefined): Added {
  const before = body === undefined ? 0 : parseUnits(new TextDecoder().decode(body), decimals)
  if (before === undefined) return { key, units: undefined, reason: 'no-counter' }
  const units = before + by
  if (!Number.isSafeInteger(units)) return { key, units: before, reason: 'inexact' }
  // A bound that was set later may be broken already: coming nearer to it is always allowed.
  if (min !== undefined && units < min && by < 0) return { key, units: before, reason: 'below-min' }
  if (max !== undefined && units > max && by > 0) return { key, units: before, reason: 'above-max' }
  return { units, body: new TextEncoder().encode(formatUnits(units, decimals)) }
}
