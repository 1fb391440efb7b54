/** Decides additions to counters: the sum, or the bound that prevents it. */
import type { Addition, CounterRefusal } from '../store/index.js'
import { formatUnits, parseUnits } from './decimal.js'

export type Added = { readonly units: number; readonly body: Uint8Array } | CounterRefusal

export const COUNTER_TYPE = 'application/json'

const DECODER = new TextDecoder()
const ZERO = 0x30
/** This many digits are exact in any arithmetic. */
const SMALL_DIGITS = 9

/** `body`: the stored text; undefined if the counter is absent. */
export function addTo({ key, by, decimals, min, max }: Addition, body: Uint8Array | undefined): Added {
  const before = body === undefined ? 0 : (smallUnits(body, decimals) ?? parseUnits(DECODER.decode(body), decimals))
  if (before === undefined) return { key, units: undefined, reason: 'no-counter' }
  const units = before + by
  if (!Number.isSafeInteger(units)) return { key, units: before, reason: 'inexact' }
  // A bound that was set later may be broken already: an addition that comes nearer to it is always allowed.
  if (min !== undefined && units < min && by < 0) return { key, units: before, reason: 'below-min' }
  if (max !== undefined && units > max && by > 0) return { key, units: before, reason: 'above-max' }
  return { units, body: toBytes(formatUnits(units, decimals)) }
}

/** The fast path for most counters: a few digits. Undefined for anything else. */
function smallUnits(body: Uint8Array, decimals: number): number | undefined {
  const { length } = body
  if (decimals !== 0 || length === 0 || length > SMALL_DIGITS || (body[0] === ZERO && length > 1)) return undefined
  let units = 0
  for (let i = 0; i < length; i++) {
    const digit = body[i]! - ZERO
    if (digit < 0 || digit > 9) return undefined
    units = units * 10 + digit
  }
  return units
}

/** ASCII. */
function toBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i)
  return bytes
}
