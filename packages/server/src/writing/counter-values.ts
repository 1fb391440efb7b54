/** The values of counters in requests, and the limits that their bucket sets. */
import { COUNTER_TYPE, formatUnits, parseUnits } from '@freshet/core/counters'
import type { Addition, CounterRefusal, Write } from '@freshet/core/store'
import { type BucketSettings, bucketOfKey, FreshetError, type Key, pathOfKey } from '@freshet/protocol'
import { checkExact, readJson } from '../json/json-text.js'

/** An addition, for the store. Throws BODY_INVALID. */
export function additionOf(key: Key, add: unknown, settings: BucketSettings): Addition {
  const { decimals, min, max } = boundsOf(settings)
  const by = unitsOf(add, decimals, key)
  return { key, by, decimals, ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) }
}

/** A new value of a counter, from JSON. Throws BODY_INVALID, COUNTER_OUT_OF_BOUNDS. */
export function counterWrite(key: Key, body: Uint8Array, settings: BucketSettings): Write {
  const { decimals, min, max } = boundsOf(settings)
  const text = readJson(body, 1)
  checkExact(text)
  const units = unitsOf(JSON.parse(text), decimals, key)
  if (min !== undefined && units < min) throw outOfBounds({ key, units: undefined, reason: 'below-min' }, settings)
  if (max !== undefined && units > max) throw outOfBounds({ key, units: undefined, reason: 'above-max' }, settings)
  return { key, contentType: COUNTER_TYPE, body: Buffer.from(formatUnits(units, decimals)) }
}

export function counterRefused(refusal: CounterRefusal, settings: BucketSettings): FreshetError {
  if (refusal.reason !== 'no-counter') return outOfBounds(refusal, settings)
  return new FreshetError(
    'COUNTER_OUT_OF_BOUNDS',
    `${pathOfKey(refusal.key)} is not a number with ${settings.decimals ?? 0} decimals. Set it with PUT.`,
    { details: { path: pathOfKey(refusal.key), reason: refusal.reason } },
  )
}

function outOfBounds({ key, units, reason }: CounterRefusal, settings: BucketSettings): FreshetError {
  const path = pathOfKey(key)
  const { decimals = 0, min, max } = settings
  const value = units === undefined ? undefined : Number(formatUnits(units, decimals))
  const limit =
    reason === 'below-min'
      ? `below ${min}`
      : reason === 'above-max'
        ? `above ${max}`
        : 'beyond what can be counted exactly'
  const now = value === undefined ? '' : ` It is ${value} now.`
  return new FreshetError('COUNTER_OUT_OF_BOUNDS', `${path} would be ${limit}, so nothing was done.${now}`, {
    details: { path, reason, value, min, max },
  })
}

function boundsOf({ decimals = 0, min, max }: BucketSettings) {
  const toUnits = (bound: number | undefined) => (bound === undefined ? undefined : parseUnits(`${bound}`, decimals))
  return { decimals, min: toUnits(min), max: toUnits(max) }
}

function unitsOf(value: unknown, decimals: number, key: Key): number {
  if (decimals === 0 && Number.isSafeInteger(value)) return (value as number) + 0
  const units = typeof value === 'number' ? parseUnits(`${value}`, decimals) : undefined
  if (units !== undefined) return units
  throw new FreshetError(
    'BODY_INVALID',
    `${pathOfKey(key)} is a counter with ${decimals} decimals: additions and new values must be numbers with no more ` +
      'decimals.',
  )
}

export function noCounter(key: Key): FreshetError {
  const isBucket = key === bucketOfKey(key)
  return new FreshetError(
    'CONTENT_TYPE_UNSUPPORTED',
    `${pathOfKey(key)} is ${isBucket ? 'not' : 'not in'} a bucket of counters, so nothing was added. Create one with ` +
      `PUT /db/{namespace}/{bucket} and {"kind":"counter"}.${isBucket ? ' To store an object like this one, name it: PUT.' : ''}`,
  )
}

/** Whether the body consists of additions to the counters of a bucket: `{"additions":[{"id":"a","add":1}]}`, and nothing else. */
export function areAdditions(body: Buffer): boolean {
  // Most bodies start differently, and need not be parsed for this.
  if (!/^\s*\{\s*"additions"\s*:/.test(body.toString('latin1', 0, START_BYTES))) return false
  try {
    const { additions, ...more } = JSON.parse(body.toString()) as { additions: unknown }
    return Object.keys(more).length === 0 && Array.isArray(additions) && additions.every(isAddition)
  } catch {
    return false
  }
}

const START_BYTES = 100

function isAddition(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'id' in value && 'add' in value
}
